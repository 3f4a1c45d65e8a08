import { describe, expect, it } from 'vitest';
import type { TaggedSentence } from '../../../src/families/entities/sequence-dataset.js';
import { augmentSentences } from '../../../src/families/entities/training.js';

const TAGS = ['O', 'B-LOC', 'I-LOC'];

/** A town that no other sentence names, and words that no mention has. */
const townIn = (index: number): TaggedSentence => ({
  words: ['Then', 'to', `Town${index}`],
  tags: [0, 0, 1],
});
const plain: TaggedSentence = { words: ['So', 'it', 'Is'], tags: [0, 0, 0] };

const repeated = <Value>(count: number, make: (index: number) => Value): Value[] =>
  Array.from({ length: count }, (_, index) => make(index));

const shown = ({ words }: TaggedSentence) => words.join(' ');

describe('augmentSentences', () => {
  it('gives a copy of each sentence with another mention', () => {
    const sentences = repeated(100, townIn);
    const copies = augmentSentences(sentences, TAGS, { seed: 1, lowercase: true });
    expect(copies).toHaveLength(100);
    for (const [row, copy] of copies.entries()) {
      expect(shown(copy)).toMatch(/^Then to Town\d+$/);
      expect(shown(copy)).not.toBe(`Then to Town${row}`);
      expect(copy.tags).toEqual([0, 0, 1]);
    }
  });

  it('copies a quarter of the sentences in lower case and an eighth in capitals', () => {
    const copies = augmentSentences(repeated(1000, townIn), TAGS, { seed: 1, lowercase: false }).slice(1000);
    const lower = copies.filter((copy) => shown(copy) === shown(copy).toLowerCase());
    const capitals = copies.filter((copy) => shown(copy) === shown(copy).toUpperCase());
    expect(lower.length + capitals.length).toBe(copies.length);
    // 250 and 125 are expected, with standard errors of 14 and 10.
    expect(Math.abs(lower.length - 250)).toBeLessThan(60);
    expect(Math.abs(capitals.length - 125)).toBeLessThan(50);
    const towns = new Set(copies.map(({ words }) => words[2]?.toLowerCase()));
    expect(towns.size).toBe(copies.length);
    expect(copies.every(({ tags }) => tags.join() === '0,0,1')).toBe(true);
  });

  it('copies sentences without mentions, too, where it changes their case', () => {
    const copies = augmentSentences(
      repeated(100, () => plain),
      TAGS,
      { seed: 1, lowercase: false },
    );
    const texts = new Set(copies.map(shown));
    expect(texts).toEqual(new Set(['so it is', 'SO IT IS']));
    expect(copies.every(({ tags }) => tags.join() === '0,0,0')).toBe(true);
  });

  it('leaves the case to models that tell none from another', () => {
    const sentences = [...repeated(50, townIn), plain];
    const copies = augmentSentences(sentences, TAGS, { seed: 1, lowercase: true });
    expect(copies.map(({ words }) => words.slice(0, 2).join(' '))).toEqual(repeated(50, () => 'Then to'));
  });

  it('copies nothing of a script without case that has no mention', () => {
    const sentence = { words: ['東京', 'へ'], tags: [0, 0] };
    expect(
      augmentSentences(
        repeated(50, () => sentence),
        TAGS,
        { seed: 1, lowercase: false },
      ),
    ).toEqual([]);
  });

  it('gives the same copies for the same seed, others for another', () => {
    const copies = (seed: number) => augmentSentences(repeated(30, townIn), TAGS, { seed, lowercase: false });
    expect(copies(1)).toEqual(copies(1));
    expect(copies(1)).not.toEqual(copies(2));
  });
});
