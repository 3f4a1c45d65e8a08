import { describe, expect, it } from 'vitest';
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
    expect(problem).toMatchObject({ type: 'invalid_type', msg: expect.stringContaining('expected string') });
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
