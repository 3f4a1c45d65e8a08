import { join } from 'node:path';
import { expect, it } from 'vitest';
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
