import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TextModel } from '../../src/inference/index.js';

/** Runs of texts of equal lengths, one after the other and at the same time: their inputs and outputs are used again. */

const directory = join(import.meta.dirname, '../../models/catalogue/named-entity-recognition');
const texts = ['Angela Merkel lives in Berlin.', 'Steve Jobs was born in Boston.', 'Rome is in Italy.', ''];

let model: TextModel;
beforeAll(async () => {
  model = await TextModel.load(directory, 1);
});
afterAll(() => model.release());

const answer = async (text: string) => (await model.predict([text])).results[0];

describe('the answer to a text', () => {
  it('is the same the first time, again, after others of its length, beside them, and in a batch', async () => {
    const first = [];
    for (const text of texts) first.push(await answer(text));
    expect(first[0]?.tokens).toEqual(['Angela Merkel', 'Berlin']);
    const again = [];
    for (const text of texts.toReversed()) again.unshift(await answer(text));
    expect(again).toEqual(first);
    expect(await Promise.all(texts.map(answer))).toEqual(first);
    const { results } = await model.predict(texts);
    for (const [at, result] of results.entries()) {
      expect(result?.tokens).toEqual(first[at]?.tokens);
      for (const [entity, score] of (result?.scores ?? []).entries()) {
        expect(Math.abs(score - (first[at]?.scores[entity] ?? Number.NaN))).toBeLessThan(2e-3);
      }
    }
  });
});
