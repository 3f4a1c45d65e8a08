import { describe, expect, it } from 'vitest';
import type { ModelType } from '../../src/contract/index.js';
import { readRows, type TrainingRow } from '../../src/datasets/index.js';
import { familyOfType } from '../../src/families/index.js';

/** Rows in memory become what a family trains on. */

async function checked(type: ModelType, given: readonly TrainingRow[]) {
  const rows = await familyOfType(type).rows();
  return rows.check({ train: await readRows(given, { option: 'rows' }) }, type);
}

describe('rows in memory', () => {
  it('keep tabs and line breaks in their texts', async () => {
    const texts = ['so\tvery\r\ngood\n', 'fine\nenough', 'bad\tthing', 'no\r\n\r\ngood'];
    const rows = texts.map((text, at) => ({ text, label: at < 2 ? 'yes' : 'no' }));
    const { dataset, leftOut } = await checked('binary-text-classification', rows);
    expect(leftOut).toEqual([]);
    const all = [...dataset.train, ...dataset.dev];
    expect(all).toEqual(expect.arrayContaining(texts.map((text) => expect.objectContaining({ text }))));
  });

  it('that repeat an earlier one are left out, and counted', async () => {
    const good = Array.from({ length: 4 }, (_, at) => ({ text: `good ${at}`, label: 'a' }));
    const bad = Array.from({ length: 4 }, (_, at) => ({ text: `bad ${at}`, label: 'b' }));
    const { dataset, leftOut } = await checked('binary-text-classification', [...good, ...bad, ...good.slice(1)]);
    expect(dataset.train.length + dataset.dev.length).toBe(8);
    expect(leftOut).toMatchObject([
      {
        kind: 'duplicate_row',
        count: 3,
        message: '3 repeated rows left out; each distinct row is used once',
        examples: [{ file: 'rows', line: 9 }, {}, {}],
      },
    ]);
  });

  it('of several labels count for the rarest when dev rows are drawn, so that each label has some', async () => {
    const common = Array.from({ length: 60 }, (_, at) => ({ text: `common ${at}`, labels: ['common'] }));
    const rare = Array.from({ length: 4 }, (_, at) => ({ text: `rare ${at}`, labels: ['common', 'rare'] }));
    const { dataset } = await checked('multilabel-text-classification', [...common, ...rare]);
    const inDev = dataset.dev.filter((row) => JSON.stringify(row).includes('rare '));
    expect(inDev).toHaveLength(1);
  });

  it('of questions and of sentences are counted in the same way', async () => {
    const questions = ['a', 'b', 'c', 'c'].map((each) => ({ question: `${each}?`, passage: each }));
    expect((await checked('question-answering', questions)).leftOut[0]?.count).toBe(1);
    const sentences = ['Ada', 'Bob', 'Eve', 'Ada'].map((name) => ({
      text: `${name}\nsang`,
      entities: [{ start: 0, end: 3, type: 'PER' }],
    }));
    expect((await checked('named-entity-recognition', sentences)).leftOut[0]?.count).toBe(1);
  });
});
