import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { type TrainingRequest, trainingRequestSchema, validate } from '../../src/contract/index.js';
import { aRequest } from '../jobs/request.js';
import { failureOf } from '../support/outcomes.js';

async function problemsOf(request: object) {
  return (await failureOf('validation', () => validate(trainingRequestSchema, request))).problems;
}

describe('a field that is absent', () => {
  it.each([
    ['dataset_url', 'missing; give a string'],
    ['model_config', 'missing; give an object'],
  ])('%s is called missing, with what it should hold', async (field, msg) => {
    expect(await problemsOf({ ...aRequest, [field]: undefined })).toEqual([{ loc: [field], msg, type: 'missing' }]);
  });

  it('of an enumeration is missing too, with the values that it may have', async () => {
    const model_config = { ...aRequest.model_config, family: undefined };
    expect(await problemsOf({ ...aRequest, model_config })).toEqual([
      {
        loc: ['model_config', 'family'],
        msg: 'missing; give one of "Papaya", "Grapefruit", "Dragonfruit"',
        type: 'missing',
      },
    ]);
  });

  it('is not confused with one of another kind', async () => {
    const [problem] = await problemsOf({ ...aRequest, dataset_url: null });
    expect(problem).toMatchObject({ type: 'invalid_type', msg: 'give a string, not null' });
  });
});

describe('a wrong value', () => {
  const schema = z.strictObject({
    epochs: z.int().min(1).max(1000).optional(),
    share: z.number().gt(0).lt(1).optional(),
    size: z.enum(['mini', 'base']).optional(),
    name: z.string().min(1).max(4).optional(),
    ids: z.array(z.string()).min(1).optional(),
    pair: z.array(z.string()).length(2).optional(),
    lower: z.boolean().optional(),
    rows: z.union([z.string(), z.array(z.string())]).optional(),
    shape: z.string().regex(/^a+$/).optional(),
    link: z.url().optional(),
    signal: z.instanceof(AbortSignal).optional(),
    hinted: z.string('give your name').optional(),
    even: z.number().multipleOf(2).optional(),
    named: z.record(z.string().min(2), z.number()).optional(),
  });

  it.each<[object, string]>([
    [{ epochs: '3' }, 'epochs: give a number, not a string'],
    [{ epochs: Number.NaN }, 'epochs: give a number, not NaN'],
    [{ share: Number.POSITIVE_INFINITY }, 'share: give a number, not Infinity'],
    [{ epochs: 1.5 }, 'epochs: give a whole number, not 1.5'],
    [{ epochs: 0 }, 'epochs: give a number of at least 1'],
    [{ epochs: 1001 }, 'epochs: give a number of at most 1000'],
    [{ share: 0 }, 'share: give a number above 0'],
    [{ share: 1 }, 'share: give a number below 1'],
    [{ size: 'big' }, 'size: give one of "mini", "base"'],
    [{ name: '' }, 'name: give a string that is not empty'],
    [{ name: 'abcde' }, 'name: give at most 4 characters'],
    [{ ids: [] }, 'ids: give at least one item'],
    [{ ids: [5] }, 'ids.0: give a string, not a number'],
    [{ pair: ['a'] }, 'pair: give exactly 2 items'],
    [{ lower: 'yes' }, 'lower: give true or false, not a string'],
    [{ rows: 3 }, 'rows: give a string, not a number; or give an array, not a number'],
    [{ shape: 'b' }, 'shape: give a string that matches /^a+$/'],
    [{ link: 'x' }, 'link: give a URL'],
    [{ signal: {} }, 'signal: give an AbortSignal, not an object'],
    [{ hinted: 3 }, 'hinted: give your name'],
    [{ even: 3 }, 'even: give a multiple of 2'],
    [{ named: { a: 1 } }, 'named.a: the key is not valid; give at least 2 characters'],
    [{ epoch: 3 }, 'unknown "epoch"; did you mean `epochs`?'],
    [{ Lower_case: true }, 'unknown "Lower_case"; did you mean `lower`?'],
    [{ colour: 'red' }, 'unknown "colour"; leave it out'],
    [[1], 'give an object, not an array'],
  ])('%j says what to give', async (input, message) => {
    expect((await failureOf('validation', () => validate(schema, input))).message).toBe(message);
  });

  it('is not repeated, since it may be a secret', async () => {
    const { message } = await failureOf('validation', () => validate(schema, { epochs: 'sesame', size: 'sesame' }));
    expect(message).not.toContain('sesame');
  });
});

describe('a dataset_url', () => {
  const withUrl = (dataset_url: string): TrainingRequest => ({ ...aRequest, dataset_url });

  it.each([
    'https://user:sesame@example.com/x.zip',
    'https://sesame@example.com/x.zip',
    'https:user:sesame@example.com/x.zip',
    'https:\\\\user:sesame@example.com/x.zip',
    ' https://user:sesame@[/x.zip',
  ])('with a user name or password is refused, and not repeated: %s', async (url) => {
    const [problem, ...others] = await problemsOf(withUrl(url));
    expect(others).toEqual([]);
    expect(problem?.loc).toEqual(['dataset_url']);
    expect(JSON.stringify(problem)).not.toContain('sesame');
  });

  it.each([
    'https://example.com/user:a@b/x.zip',
    'https://example.com/x.zip?of=me@example.com#@',
    'file:///home/me@work/x.zip',
    'me@work/x.zip',
  ])('with an @ elsewhere is not: %s', (url) => {
    expect(validate(trainingRequestSchema, withUrl(url)).dataset_url).toBe(url);
  });
});
