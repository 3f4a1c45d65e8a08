import { describe, expect, it } from 'vitest';
import { listedMistakes, MAX_MISTAKE_CHARACTERS, MAX_MISTAKES } from '../../src/models/index.js';

const aMistake = { text: 'text', expected: ['a'], predicted: ['b'], score: 0.5 };

describe('listedMistakes', () => {
  it('keeps the most confident ones, among equals the first', () => {
    const many = Array.from({ length: 2 * MAX_MISTAKES }, (_, at) => ({
      ...aMistake,
      text: `${at}`,
      score: at % 2,
    }));
    const listed = listedMistakes(many);
    expect(listed.map(({ text }) => Number(text))).toEqual(Array.from({ length: MAX_MISTAKES }, (_, at) => 2 * at + 1));
  });

  it('cuts long texts between characters, never within one', () => {
    const fits = '😀'.repeat(MAX_MISTAKE_CHARACTERS);
    const [whole, cut] = listedMistakes([
      { ...aMistake, text: fits },
      { ...aMistake, text: `${fits}!` },
    ]);
    expect(whole?.text).toBe(fits);
    expect(cut?.text).toBe(`${'😀'.repeat(MAX_MISTAKE_CHARACTERS - 1)}…`);
  });
});
