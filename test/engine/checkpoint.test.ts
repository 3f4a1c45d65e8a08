import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  checkpointTensors,
  readCheckpoint,
  restoreParameters,
  saveCheckpoint,
  stepAdamW,
} from '../../src/engine/index.js';
import { encodeSafetensors } from '../../src/models/index.js';
import { Random } from '../../src/system/numbers.js';
import { failureOf } from '../support/outcomes.js';
import { decayed, storeOf, undecayed } from './parameters.js';

const definitions = [decayed('w', 5, 3), undecayed('b', 5)];

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'orchard-checkpoint-'));
  file = join(folder, 'work', 'checkpoint.safetensors');
});
afterEach(() => rm(folder, { recursive: true }));

function fresh() {
  return { ...storeOf(definitions), steps: 0 };
}

/** Trains on made-up gradients that depend on the step alone. */
function train(training: ReturnType<typeof fresh>, from: number, to: number): void {
  const { store, kernels } = training;
  for (let step = from; step < to; step++) {
    const random = Random.fromSeed(step);
    for (const { gradients } of store.parameters) gradients.set(gradients.map(() => random.normal()));
    training.steps += 1;
    stepAdamW(store, kernels, { step: training.steps, learningRate: 0.01, maxGradientNorm: 1 });
  }
}

async function savedOf(training: ReturnType<typeof fresh>) {
  const { store, steps } = training;
  await saveCheckpoint(file, store, { state: { steps }, best: store.copyWeights() });
  return (await readCheckpoint(file)) ?? expect.fail('there is no checkpoint');
}

describe('a checkpoint', () => {
  it('resumes bit for bit', async () => {
    const uninterrupted = fresh();
    train(uninterrupted, 0, 6);
    const first = fresh();
    train(first, 0, 3);
    const checkpoint = await savedOf(first);
    expect(checkpoint.state).toEqual({ steps: 3 });

    const second = fresh();
    await restoreParameters(checkpoint, second.store);
    second.steps = 3;
    train(second, 3, 6);
    expect(second.store.copyWeights()).toEqual(uninterrupted.store.copyWeights());
  });

  it('replaces the earlier one and leaves nothing beside it', async () => {
    const training = fresh();
    await savedOf(training);
    train(training, 0, 1);
    const checkpoint = await savedOf(training);
    expect(checkpointTensors(checkpoint, 'best').get('b')?.values).toEqual(training.store.get('b').weights);
    expect(await readdir(join(folder, 'work'))).toEqual(['checkpoint.safetensors']);
  });

  it('is refused as a whole if a parameter is missing or has another size', async () => {
    const trained = fresh();
    train(trained, 0, 1);
    const { state, tensors } = await savedOf(trained);
    const without = new Map([...tensors].filter(([name]) => name !== 'first/b'));
    const short = new Map(tensors).set('second/b', { shape: [4], values: new Float32Array(4) });

    const target = fresh();
    for (const [unfit, problem] of [
      [without, 'tensor first/b is missing'],
      [short, 'tensor second/b has 4 elements, expected 5'],
    ] as const) {
      const error = await failureOf('training', () => restoreParameters({ state, tensors: unfit }, target.store));
      expect(error.message).toContain(problem);
      expect(target.store.get('w').weights).toEqual(new Float32Array(15));
    }
  });

  it('holds weights, both moments and the best weights under names of their own', async () => {
    const training = fresh();
    train(training, 0, 1);
    const { tensors } = await savedOf(training);
    const { weights, firstMoments, secondMoments } = training.store.get('b');
    const held = ['weights', 'first', 'second', 'best'].map((kind) => tensors.get(`${kind}/b`)?.values);
    expect(held).toEqual([weights, firstMoments, secondMoments, weights]);
  });

  it.each([
    ['is not there', undefined],
    ['is no safetensors file', Buffer.from('nothing of the kind')],
    ['holds no state', encodeSafetensors(new Map())],
    ['holds a state that is no JSON', encodeSafetensors(new Map(), { 'orchard.training_state': '{' })],
  ])('is as good as none where the file %s', async (_, bytes) => {
    const path = join(folder, 'other.safetensors');
    if (bytes !== undefined) await writeFile(path, bytes);
    expect(await readCheckpoint(path)).toBeUndefined();
  });
});
