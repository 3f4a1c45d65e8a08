import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { LoadedGraph } from '../../src/graph/index.js';
import { EncoderRuns } from '../../src/inference/encoder-runs.js';
import { TextModel } from '../../src/inference/index.js';

/** Runs of texts of equal lengths, one after the other and at the same time: their inputs and outputs are used again. */

const directory = join(import.meta.dirname, '../../models/catalogue/named-entity-recognition');
const texts = [
  'Angela Merkel lives in Berlin.',
  'Angela Merkel lives in Paris.',
  'Rome is in Italy.',
  'Bonn was in Europe.',
  '',
];

/** The result of a model that has read nothing else. */
async function freshAnswer(text: string) {
  const model = await TextModel.load(directory, 1);
  const { results } = await model.predict([text]);
  await model.release();
  return results[0];
}

it('a text is answered as by a fresh model, after others of its length, beside them, and in a batch', async () => {
  const fresh = [];
  for (const text of texts) fresh.push(await freshAnswer(text));
  expect(fresh[0]?.scores).not.toEqual(fresh[1]?.scores);
  const model = await TextModel.load(directory, 1);
  const answer = async (text: string) => (await model.predict([text])).results[0];
  for (let round = 0; round < 2; round += 1) {
    for (const [at, text] of texts.entries()) expect(await answer(text)).toEqual(fresh[at]);
  }
  expect(await Promise.all(texts.map(answer))).toEqual(fresh);
  const { results } = await model.predict(texts);
  for (const [at, result] of results.entries()) {
    expect(result?.tokens).toEqual(fresh[at]?.tokens);
    for (const [entity, score] of (result?.scores ?? []).entries()) {
      expect(Math.abs(score - (fresh[at]?.scores[entity] ?? Number.NaN))).toBeLessThan(2e-3);
    }
  }
  await model.release();
});

it('runs go on with one thread where the graph can not be opened for several', async () => {
  const ids = Int32Array.of(1, 2, 3);
  const window = { row: 0, encoding: { ids, typeIds: ids, sequenceIds: ids, offsets: null, truncated: 0 } };
  let runs = 0;
  let opened = 0;
  const narrow: LoadedGraph = {
    inputs: [{ name: 'input_ids', type: 'int64', shape: ['batch', 'tokens'] }],
    outputs: [],
    bytes: 0,
    run: async () => {
      runs += 1;
    },
    release: async () => undefined,
  };
  const openWide = async () => {
    opened += 1;
    throw new Error('the file is gone');
  };
  const output = { name: 'logits', type: 'float32', shape: ['batch', 2] } as const;
  const encoder = new EncoderRuns({ narrow, openWide, output, pad: 0, isOnDevice: false });
  for (let run = 0; run < 30; run += 1) await encoder.run([window], true, new Map());
  await encoder.release();
  expect({ runs, opened }).toEqual({ runs: 30, opened: 1 });
});
