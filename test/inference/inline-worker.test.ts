import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { InlineWorker } from '../../src/inference/inline-worker.js';
import type { BatchAnswer } from '../../src/inference/worker.js';

/** A real entity model in a worker: long texts in slices, others between them, and what is given up or forgotten. */

const directory = join(import.meta.dirname, '../../models/catalogue/named-entity-recognition');
const sentence = 'John Smith went to Paris, France on Monday with Microsoft Corp. and his dog. ';
/** So many words that they are decoded step by step. */
const long = sentence.repeat(300);
const short = 'Angela Merkel lives in Berlin.';

let worker: InlineWorker;
let lastId = 0;
beforeAll(() => {
  worker = new InlineWorker({ threads: 1 });
});
afterAll(() => worker.close());

function begin(texts: readonly string[]): { readonly id: number; readonly answer: Promise<BatchAnswer> } {
  lastId += 1;
  return { id: lastId, answer: worker.run({ id: lastId, directory, texts, alone: false }) };
}

async function finish(id: number, first: BatchAnswer): Promise<{ slices: number; answer: BatchAnswer }> {
  let [slices, answer] = [1, first];
  while (answer.isUnfinished) {
    answer = await worker.resume(id, false);
    slices += 1;
  }
  return { slices, answer };
}

/** On a busy machine a short text may take several slices too. */
async function shortAnswer(): Promise<BatchAnswer> {
  const { id, answer } = begin([short]);
  return (await finish(id, await answer)).answer;
}

describe('a long text', () => {
  it('is answered in slices, with other texts of the same model between them, and as without them', async () => {
    const whole = await (async () => {
      const { id, answer } = begin([long]);
      return finish(id, await answer);
    })();
    const [alone] = (await shortAnswer()).results;
    expect(alone?.tokens).toEqual(['Angela Merkel', 'Berlin']);
    const one = begin([long]);
    const two = begin([long]);
    const answers = [await one.answer, await two.answer];
    let slices = 0;
    while (answers.some(({ isUnfinished }) => isUnfinished)) {
      slices += 1;
      for (const [at, { id }] of [one, two].entries()) {
        if (answers[at]?.isUnfinished) answers[at] = await worker.resume(id, false);
      }
      expect((await shortAnswer()).results).toEqual([alone]);
    }
    expect(slices).toBeGreaterThan(3);
    expect(whole.answer.results[0]?.labels.length).toBeGreaterThan(600);
    for (const { results } of answers) expect(results).toEqual(whole.answer.results);
  });

  it('that is given up between slices is not gone on with', async () => {
    const { id, answer } = begin([long, long]);
    expect((await answer).isUnfinished).toBe(true);
    worker.cancel(id, [0, 1]);
    await expect(worker.resume(id, false)).rejects.toMatchObject({ code: 'internal' });
  });

  it('that is given up within a slice ends with it', async () => {
    const { id, answer } = begin([long]);
    worker.cancel(id, [0]);
    expect(await answer).toMatchObject({ isUnfinished: false, results: [undefined] });
  });
});

describe('a model that is forgotten', () => {
  it('answers what it has begun with, leaves then, and is loaded anew when it is asked again', async () => {
    const { id, answer } = begin([long]);
    const first = await answer;
    worker.forget(directory);
    const { slices } = await finish(id, first);
    expect(slices).toBeGreaterThan(1);
    expect((await worker.load(directory)).ms).toBeGreaterThan(0);
    expect((await worker.load(directory)).ms).toBe(0);
    worker.forget(directory);
    expect((await begin([short]).answer).loadedBytes).toBeGreaterThan(2 ** 20);
  });
});
