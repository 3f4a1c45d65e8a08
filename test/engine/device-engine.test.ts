import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  DeviceEngine,
  Evaluator,
  readCheckpoint,
  restoreParameters,
  saveCheckpoint,
  type TaskLearner,
  type Weights,
} from '../../src/engine/index.js';
import { type GraphExecutor, onnxExecutor } from '../../src/graph/index.js';
import { failureOf } from '../support/outcomes.js';
import { residentOnBuffers } from '../support/resident-on-buffers.js';
import { loopInput } from '../training/loop-input.js';
import { classes, largestDifference, learnerOf, lossesOf, smallTasks, tags } from './small-tasks.js';

/** Training on tensors that stay in an executor's memory, here ordinary arrays, beside training on the arena. */

const arena: GraphExecutor = onnxExecutor();
const resident: GraphExecutor = residentOnBuffers(onnxExecutor());

const STEPS = 20;
/** Of losses and outputs, relative. */
const TOLERANCE = 1e-5;
/** Of weights: AdamW takes steps of full size where a gradient is zero in theory, and so is rounding alone. */
const TOLERANCE_OF_WEIGHTS = 1e-4;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'orchard-resident-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** Relative distance of all weights. */
function distance(weights: Weights, expected: Weights): number {
  let [difference, size] = [0, 0];
  for (const [name, values] of expected) {
    const given = weights.get(name);
    difference += Math.hypot(...values.map((value, at) => value - (given?.[at] ?? Number.NaN))) ** 2;
    size += Math.hypot(...values) ** 2;
  }
  return Math.sqrt(difference / size);
}

/** Losses of some steps, and the weights after them. */
async function trained(learning: TaskLearner, steps = STEPS) {
  const losses = await lossesOf(learning, steps);
  const weights = await learning.engine.store.copyWeights();
  await learning.release();
  return { losses, weights };
}

describe('training on tensors that stay', () => {
  it.each(smallTasks)(`has the losses and weights of the arena for ${STEPS} steps: %s`, async (_, make) => {
    const expected = await trained(await learnerOf(make(), 0, { executor: arena }));
    const learning = await learnerOf(make(), 0, { executor: resident });
    expect(learning.engine).toBeInstanceOf(DeviceEngine);
    const start = await learning.engine.store.copyWeights();
    const { losses, weights } = await trained(learning);
    expect(distance(start, expected.weights)).toBeGreaterThan(0.1);
    expect(largestDifference(losses, expected.losses)).toBeLessThan(TOLERANCE);
    expect(distance(weights, expected.weights)).toBeLessThan(TOLERANCE_OF_WEIGHTS);
  });

  it('has them too where most weights are frozen, tokens are dropped and gradients are clipped', async () => {
    const start = await learnerOf(classes(), 0, { executor: arena });
    const all = await start.engine.store.copyWeights();
    await start.release();
    const frozen = new Map([...all].filter(([name]) => !/classifier|layer\.1/.test(name)));
    const options = { ...loopInput(classes(), '').hyperparameters, tokenDropout: 0.2 };
    const changes = { frozen: { weights: frozen }, options, maxGradientNorm: 0.1 };
    const expected = await trained(await learnerOf(classes(), 0, { ...changes, executor: arena }));
    const { losses, weights } = await trained(await learnerOf(classes(), 0, { ...changes, executor: resident }));
    expect([...weights.keys()]).toEqual([...all.keys()].filter((name) => !frozen.has(name)));
    expect(largestDifference(losses, expected.losses)).toBeLessThan(TOLERANCE);
    expect(distance(weights, expected.weights)).toBeLessThan(TOLERANCE_OF_WEIGHTS);
  });

  it('answers, when it is evaluated, as the same weights on the arena', async () => {
    const outputs: Float32Array[] = [];
    for (const executor of [arena, resident]) {
      const input = loopInput(tags(), '');
      const learning = await learnerOf(tags(), 0, { executor });
      await lossesOf(learning, 3);
      const evaluator = await Evaluator.create(executor, input.task.head, input.encoder);
      const windows = (await evaluator.outputs(input.dev, learning.engine.parameterFeeds)).flat();
      outputs.push(Float32Array.from(windows.flatMap((window) => [...window.outputs])));
      await evaluator.release();
      await learning.release();
    }
    const [expected = new Float32Array(), given = new Float32Array()] = outputs;
    expect(given.length).toBeGreaterThan(100);
    expect(Math.hypot(...given.map((value, at) => value - (expected[at] ?? 0)))).toBeLessThan(
      TOLERANCE * Math.hypot(...expected),
    );
  });

  it('says when it diverges, and leaves the weights as they were', async () => {
    const learning = await learnerOf(classes(), 0, { executor: resident });
    const weights = new Map(await learning.engine.store.copyWeights());
    const broken = weights.get('classifier.weight')?.fill(Number.NaN) ?? expect.fail();
    await learning.engine.store.setWeights(new Map([['classifier.weight', broken]]));
    const error = await failureOf('training', () => learning.learner.step(1e-3));
    expect(error.message).toContain('gradient norm of step 1 is NaN');
    expect(await learning.engine.store.copyWeights()).toEqual(weights);
    expect(learning.learner.state.steps).toBe(0);
    await learning.release();
  });
});

describe('dropout on tensors that stay', () => {
  it('gives the same run for the same seed, and another for another', async () => {
    const runs = [];
    for (const seed of [7, 7, 8]) {
      const learning = await learnerOf(classes(), 0.2, { executor: resident });
      learning.learner.state = { ...learning.learner.state, dropout: { seed, position: 0 } };
      runs.push(await trained(learning, 5));
    }
    expect(runs[1]).toEqual(runs[0]);
    expect(runs[2]?.losses).not.toEqual(runs[0]?.losses);
  });

  it.each(smallTasks)('goes on after a checkpoint as without one: %s', async (_, make) => {
    const whole = await trained(await learnerOf(make(), 0.1, { executor: resident }), 8);
    const first = await learnerOf(make(), 0.1, { executor: resident });
    const losses = await lossesOf(first, 4);
    const second = await resumed(first, () => learnerOf(make(), 0.1, { executor: resident }));
    losses.push(...(await lossesOf(second, 4)));
    expect(losses).toEqual(whole.losses);
    expect(await second.engine.store.copyWeights()).toEqual(whole.weights);
    await second.release();
  });

  it('names the stream of its masks', async () => {
    const onArena = await learnerOf(classes(), 0.1, { executor: arena });
    await lossesOf(onArena, 2);
    const { position } = onArena.learner.state.dropout;
    const onDevice = await resumed(onArena, () => learnerOf(classes(), 0.1, { executor: resident }));
    expect(onDevice.learner.state.dropout).toEqual({ seed: 3, position, stream: 'graph' });
    await lossesOf(onDevice, 2);
    expect(onDevice.learner.state.dropout.position).toBe(position + 2);
    const back = await resumed(onDevice, () => learnerOf(classes(), 0.1, { executor: arena }));
    expect(back.learner.state.dropout).toEqual({ seed: 3, position: position + 2 });
    await back.release();
  });
});

describe('a training run that is resumed elsewhere', () => {
  it.each([
    ['the arena', 'tensors that stay', arena, resident],
    ['tensors that stay', 'the arena', resident, arena],
  ] as const)('goes on from %s to %s as if it had not been moved', async (_from, _to, from, to) => {
    const whole = await trained(await learnerOf(classes(), 0, { executor: arena }), 10);
    const first = await learnerOf(classes(), 0, { executor: from });
    const losses = await lossesOf(first, 5);
    const second = await resumed(first, () => learnerOf(classes(), 0, { executor: to }));
    losses.push(...(await lossesOf(second, 5)));
    expect(largestDifference(losses, whole.losses)).toBeLessThan(TOLERANCE);
    expect(distance(await second.engine.store.copyWeights(), whole.weights)).toBeLessThan(TOLERANCE_OF_WEIGHTS);
    await second.release();
  });
});

/** A learner that goes on from a checkpoint of another, which is released. */
async function resumed(first: TaskLearner, create: () => Promise<TaskLearner>): Promise<TaskLearner> {
  const file = join(folder, 'checkpoint.safetensors');
  await saveCheckpoint(file, first.engine.store, { state: {} });
  const { state } = first.learner;
  await first.release();
  const second = await create();
  const checkpoint = (await readCheckpoint(file)) ?? expect.fail('there is no checkpoint');
  await restoreParameters(checkpoint, second.engine.store);
  second.learner.state = state;
  return second;
}
