import { describe, expect, it, vi } from 'vitest';
import type { TrainingTask } from '../../../src/families/index.js';
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
