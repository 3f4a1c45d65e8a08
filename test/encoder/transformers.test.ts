import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { encoderTypes } from '../../src/encoder/index.js';
import { compareWithOracle, readOracle } from '../support/encoder-oracle.js';

/**
 * Every architecture against what Python's transformers computed with the same weights: hidden states, logits and the
 * gradients of a training step. The recordings are written by
 * `python3 bench/interop/random_encoders.py test/encoder/recorded --size tiny`.
 */

const recorded = fileURLToPath(new URL('recorded', import.meta.url));
const names = readdirSync(recorded);

describe.each(names)('%s, as transformers recorded it', (name) => {
  const oracle = readOracle(join(recorded, name));

  it(`has the states, logits and gradients that ${oracle.writtenBy} gives`, async () => {
    const { states, exported, logits, gradients, worst, compared } = await compareWithOracle(oracle);
    expect(compared).toBeGreaterThan(10);
    expect(Math.max(states, exported, logits)).toBeLessThan(1e-5);
    expect(gradients, `of ${worst}`).toBeLessThan(1e-4);
  });
});

it('there is a recording of every model_type', () => {
  const types = new Set(names.map((name) => readOracle(join(recorded, name)).encoder.modelType));
  expect([...types].sort()).toEqual([...encoderTypes()].sort());
});
