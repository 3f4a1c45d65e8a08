import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import {
  batchQueriesSchema,
  MAX_QUERY_CHARACTERS,
  medleyBatchRequestSchema,
  querySchema,
  validate,
} from '../../src/contract/index.js';
import { Medley, Predictor } from '../../src/inference/index.js';
import { memoryStorage } from '../../src/storage/index.js';
import { errorOf, failureOf } from '../support/outcomes.js';

const longest = 'é'.repeat(MAX_QUERY_CHARACTERS);
const tooLong = `${longest}.`;

describe('a query that is too long', () => {
  it('is refused with its place among the queries, and the limit', async () => {
    const single = await failureOf('validation', () => validate(querySchema, tooLong, ['query']));
    expect(single.message).toMatch(/^query: at most 100,000 /);
    const batch = await failureOf('validation', () =>
      validate(batchQueriesSchema, ['short', longest, tooLong, '', tooLong], ['queries']),
    );
    expect(batch.problems.map(({ loc, type }) => ({ loc, type }))).toEqual([
      { loc: ['queries', 2], type: 'too_big' },
      { loc: ['queries', 4], type: 'too_big' },
    ]);
    const medley = await failureOf('validation', () =>
      validate(medleyBatchRequestSchema, { queries: ['', tooLong], models: ['customer-review'] }),
    );
    expect(medley.problems).toMatchObject([{ loc: ['queries', 1] }]);
  });

  it('reaches no model of a predictor or medley', async () => {
    await using predictor = new Predictor({ storage: memoryStorage(), isolation: 'inline' });
    await using medley = new Medley({ isolation: 'inline' });
    const request = { query: tooLong, models: ['customer-review'] };
    for (const error of [
      await errorOf(predictor.predictCustom('any', tooLong)),
      await errorOf(predictor.predictCustomBatch('any', [tooLong])),
      await errorOf(predictor.predictPretrained('customer-review', tooLong)),
      await errorOf(predictor.predictPretrainedBatch('customer-review', [tooLong])),
    ]) {
      expect(error.code).toBe('validation');
    }
    expect(await errorOf(medley.predict(request))).toMatchObject({ problems: [{ loc: ['query'] }] });
  });

  it('is ruled out by the published schema', () => {
    expect(z.toJSONSchema(querySchema)).toMatchObject({ maxLength: MAX_QUERY_CHARACTERS });
  });
});
