import { describe, expect, it, vi } from 'vitest';
import { readEncoder } from '../../src/encoder/index.js';
import type { TaskLearner } from '../../src/engine/index.js';
import { smallConfigs } from '../encoder/small-configs.js';
import { failureOf } from '../support/outcomes.js';
import { classes, learnerOf, smallTasks } from './small-tasks.js';

/** Bound on the gradients' norm, as in BERT's fine-tuning (its optimization.py clips to 1.0). */
const BOUND = 1;
/** AdamW's first moment after one step is (1 − β₁) · gradient, with β₁ = 0.9. */
const FIRST_SHARE = 0.1;

/** One step with every weight scaled up, so that the gradients are far beyond the bound. */
async function firstStep({ learner, engine }: TaskLearner) {
  const weights = await engine.store.copyWeights();
  await engine.store.setWeights(new Map([...weights].map(([name, values]) => [name, values.map((each) => 30 * each)])));
  const step = vi.spyOn(engine, 'step');
  await learner.step(1e-3);
  const states = await engine.store.state();
  const moments = states.flatMap(({ firstMoments }) => [...firstMoments]);
  return { norm: await step.mock.results[0]?.value, clipped: Math.hypot(...moments) / FIRST_SHARE };
}

describe('a learner', () => {
  it('clips the gradients to norm 1', async () => {
    const learning = await learnerOf(classes(), 0);
    const { norm, clipped } = await firstStep(learning);
    await learning.release();
    expect(norm).toBeGreaterThan(2 * BOUND);
    expect(clipped).toBeCloseTo(BOUND, 5);
  });

  it('clips them to the bound of its task', async () => {
    const learning = await learnerOf(classes(), 0, { maxGradientNorm: 0.25 });
    const { norm, clipped } = await firstStep(learning);
    await learning.release();
    expect(norm).toBeGreaterThan(0.5);
    expect(clipped).toBeCloseTo(0.25, 5);
  });
});

describe.each(smallTasks)('a step of several runs: %s', (_, make) => {
  it('is aborted between two of them', async () => {
    const stop = new AbortController();
    const learning = await learnerOf(make(), 0, { tokensPerRun: 24, signal: stop.signal });
    const { engine, learner } = learning;
    const [run, step] = [vi.spyOn(engine, 'run'), vi.spyOn(engine, 'step')];
    await learner.step(1e-3);
    const runs = run.mock.calls.length;
    expect(runs).toBeGreaterThan(2);
    run.mockImplementation(async () => {
      stop.abort();
      return 0;
    });
    await failureOf('aborted', () => learner.step(1e-3));
    expect(run).toHaveBeenCalledTimes(runs + 1);
    expect(step).toHaveBeenCalledTimes(1);
    await learning.release();
  });
});

describe('weight decay', () => {
  const encoders = Object.entries(smallConfigs).map(([type, json]) => {
    return [type, readEncoder({ model_type: type, ...json }, 'config.json')] as const;
  });

  it.each(encoders)('applies to matrices, but not to biases and norms: %s', (_, encoder) => {
    for (const [, make] of smallTasks) {
      for (const { name, shape, decay } of make().head.parameters(encoder)) {
        const isBiasOrNorm = name.endsWith('bias') || shape.length === 1;
        expect({ name, decay }).toEqual({ name, decay: !isBiasOrNorm });
      }
    }
  });
});
