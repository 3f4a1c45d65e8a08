import { describe, expect, it } from 'vitest';
import { validate } from '../../src/contract/index.js';
import { callSchema, explainSchema, requestOptions } from '../../src/inference/calls.js';
import { failureOf } from '../support/outcomes.js';

describe('the options of a call', () => {
  it('apply rules unless told not to', () => {
    expect(requestOptions({})).not.toHaveProperty('rules');
    expect(requestOptions({ rules: true })).not.toHaveProperty('rules');
    expect(requestOptions({ rules: false })).toHaveProperty('rules', false);
  });

  it('have a deadline only if one is given', () => {
    expect(requestOptions({})).not.toHaveProperty('deadlineMs');
    expect(requestOptions({ deadlineMs: 250 })).toHaveProperty('deadlineMs', 250);
  });

  it('are named by what is wrong with them', async () => {
    const wrong = [
      () => validate(callSchema, { deadlineMs: -1 }),
      () => validate(callSchema, { rules: 'no' }),
      () => validate(callSchema, { noneOfThese: 1 }),
      () => validate(explainSchema, { label: 7 }),
    ];
    const places = [];
    for (const call of wrong) places.push((await failureOf('validation', async () => call())).problems[0]?.loc);
    expect(places).toEqual([['deadlineMs'], ['rules'], ['noneOfThese'], ['label']]);
  });
});
