import { describe, expect, it, vi } from 'vitest';
import type { TrainingTask } from '../../../src/families/index.js';
import { retrievalRows } from '../../../src/families/retrieval/rows.js';
import { retrievalTask } from '../../../src/families/retrieval/training.js';
import { Bm25Index } from '../../../src/lexical/index.js';

const passages = ['the blue lamp costs forty coins', 'the red lamp weighs nine stones', 'the river runs to the sea'];
const train = [
  { question: 'what does the blue lamp cost', passage: 0 },
  { question: 'how heavy is the red lamp', passage: 1 },
];
const dataset = { passages, train, dev: train, warnings: [] };
const { signal } = new AbortController();
const options = { lowercase: true, language: 'english', balanced: false, seed: 1, signal };

async function examplesOf({ head }: TrainingTask, language = 'english') {
  if (head.kind !== 'pairs') throw new Error('not a head of pairs');
  return head.examples({ language, signal });
}

describe('the examples of a retrieval task', () => {
  it('are a question, its passage, and the passage that BM25 would rather take', async () => {
    const { rows } = await examplesOf(retrievalTask(dataset));
    expect(rows).toEqual([
      [0, 2 + 0, 2 + 1],
      [1, 2 + 1, 2 + 0],
    ]);
  });

  it('feed a loss with the right passage of each question in a batch', async () => {
    const { targets, mask } = (await examplesOf(retrievalTask(dataset))).feeds([1, 0]);
    expect(targets?.dims).toEqual([2, 4]);
    expect([...(targets?.data ?? [])]).toEqual([0.5, 0, 0, 0, 0, 0, 0.5, 0]);
    // The passage of each comes twice: its copy is no wrong answer.
    expect([...(mask?.data ?? [])].map((value) => value < 0)).toEqual(
      [0, 0, 0, 1, 0, 1, 0, 0].map((masked) => masked === 1),
    );
  });
});

describe('a retrieval task with a teacher', () => {
  /** The questions lie along two axes, and the passages at 0°, 90° and 53°. */
  const teacher = {
    width: 2,
    questions: Float32Array.of(1, 0, 0, 1),
    passages: Float32Array.of(1, 0, 0, 1, 0.6, 0.8),
  };
  const taught = retrievalTask({ ...dataset, teacher });

  it('aims at its softmax over cosines, scaled to a standard deviation of 4.3', async () => {
    const { targets } = (await examplesOf(taught)).feeds([1, 0]);
    // The cosines are 1, 0, 0.6, 0, 1 and 0.8: mean 3.4 / 6, variance 3 / 6 − (3.4 / 6)².
    const scale = 4.3 / Math.sqrt(3 / 6 - (3.4 / 6) ** 2);
    const other = 1 / (2 + Math.exp(scale));
    // Columns: passages 1 0 | 0 1. The copy of the right one is masked.
    const rows = [
      [0.3 + 0.7 * (1 - 2 * other), 0.7 * other, 0.7 * other, 0],
      [0.7 * other, 0, 0.3 + 0.7 * (1 - 2 * other), 0.7 * other],
    ];
    expect([...(targets?.data ?? [])]).toEqual(rows.flat().map((share) => expect.closeTo(share / 2, 6)));
  });

  it('learns an edited copy of a question from its passage alone', async () => {
    const copies = retrievalTask({ ...dataset, teacher, train: [...train, { question: 'the lamp', passage: 2 }] });
    const { targets } = (await examplesOf(copies)).feeds([2]);
    expect([...(targets?.data ?? [])].sort()).toEqual([0, 1]);
  });

  it('takes vectors of any length from an encoder', async () => {
    const asked: string[] = [];
    const { teacher: vectors } =
      (await retrievalRows.withTeacher?.(dataset, async (texts, as) => {
        asked.push(`${as}: ${texts.length}`);
        return texts.map((_, at) => Float32Array.of(3, 4 * at));
      })) ?? {};
    expect(asked).toEqual(['query: 2', 'document: 3']);
    expect([...(vectors?.questions ?? [])]).toEqual([1, 0, 3 / 5, 4 / 5].map((each) => expect.closeTo(each, 6)));
    expect(vectors?.passages).toHaveLength(6);
  });
});

describe('the BM25 index of a retrieval task', () => {
  it('is made once for mining, for the expert, and for copies with more questions', async () => {
    const made = vi.spyOn(Bm25Index, 'indexing');
    const task = retrievalTask(dataset);
    expect(made).not.toHaveBeenCalled();
    for (const each of [task, task.augmented({ seed: 1, lowercase: true })]) {
      await examplesOf(each);
      await each.trainExpert(options);
    }
    expect(made).toHaveBeenCalledTimes(1);
    await examplesOf(task, 'german');
    expect(made).toHaveBeenCalledTimes(2);
    made.mockRestore();
  });
});
