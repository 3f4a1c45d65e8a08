import { describe, expect, it } from 'vitest';
import { stepAdamW } from '../../src/engine/index.js';
import { failureOf } from '../support/outcomes.js';
import { decayed, storeOf, undecayed } from './parameters.js';

describe('AdamW', () => {
  it('follows three steps worked by hand', () => {
    const { store, kernels } = storeOf([decayed('w', 1)]);
    const options = { beta1: 0.5, beta2: 0.75, weightDecay: 0.1 };
    const { weights, gradients } = store.get('w');
    weights[0] = 1;
    // gradient   m        m̂       v         v̂        m̂ / √v̂
    //  1         1/2      1       1/4       1        1
    // −2        −3/4     −1       19/16     19/7    −1 / √(19/7)
    //  3         9/8      9/7     201/64    201/37   (9/7) / √(201/37)
    let expected = 1;
    for (const [step, gradient, direction] of [
      [1, 1, 1],
      [2, -2, -1 / Math.sqrt(19 / 7)],
      [3, 3, 9 / 7 / Math.sqrt(201 / 37)],
    ] as const) {
      gradients[0] = gradient;
      stepAdamW(store, kernels, { step, learningRate: 0.2 }, options);
      expected = expected * (1 - 0.2 * 0.1) - 0.2 * direction;
      expect(weights[0]).toBeCloseTo(expected, 6);
    }
  });

  it('moves by the learning rate at each step while the gradient stays the same, whatever its size', () => {
    const { store, kernels } = storeOf([undecayed('b', 3)]);
    const { weights, gradients } = store.get('b');
    gradients.set([1e-3, 5, -1000]);
    for (let step = 1; step <= 3; step++) stepAdamW(store, kernels, { step, learningRate: 0.01 });
    [-0.03, -0.03, 0.03].forEach((value, index) => {
      expect(weights[index]).toBeCloseTo(value, 6);
    });
  });

  it('adds epsilon to the root of the corrected second moment', () => {
    const { store, kernels } = storeOf([undecayed('b', 1)]);
    store.get('b').gradients[0] = 3;
    stepAdamW(store, kernels, { step: 1, learningRate: 0.1 }, { epsilon: 1 });
    expect(store.get('b').weights[0]).toBeCloseTo((-0.1 * 3) / (3 + 1), 6);
  });

  it('applies weight decay only to the parameters that have it, even without a gradient', () => {
    const { store, kernels } = storeOf([decayed('w', 2), undecayed('b', 2)]);
    store.get('w').weights.fill(1);
    store.get('b').weights.fill(1);
    stepAdamW(store, kernels, { step: 1, learningRate: 0.1 }, { weightDecay: 0.5 });
    expect(store.get('w').weights[1]).toBeCloseTo(0.95, 6);
    expect(store.get('b').weights[1]).toBe(1);
  });

  it('returns the joint norm of all gradients and clips it to the bound', () => {
    const { store, kernels } = storeOf([decayed('w', 1), undecayed('b', 1)]);
    store.get('w').gradients[0] = 3;
    store.get('b').gradients[0] = -4;
    expect(stepAdamW(store, kernels, { step: 1, learningRate: 0.1, maxGradientNorm: 1 })).toBe(5);
    // After one step the first moment is a tenth of the clipped gradient.
    expect(store.get('w').firstMoments[0]).toBeCloseTo(0.06, 6);
    expect(store.get('b').firstMoments[0]).toBeCloseTo(-0.08, 6);
  });

  it('clips a norm that is a little beyond the bound', () => {
    const { store, kernels } = storeOf([decayed('w', 1)]);
    store.get('w').gradients[0] = 3;
    stepAdamW(store, kernels, { step: 1, learningRate: 0.1, maxGradientNorm: 2 });
    expect(store.get('w').firstMoments[0]).toBeCloseTo(0.2, 6);
  });

  it('leaves gradients within the bound as they are', () => {
    const { store, kernels } = storeOf([decayed('w', 1)]);
    store.get('w').gradients[0] = 3;
    stepAdamW(store, kernels, { step: 1, learningRate: 0.1, maxGradientNorm: 3 });
    expect(store.get('w').firstMoments[0]).toBeCloseTo(0.3, 6);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY])(
    'refuses a step with gradient %f and changes nothing',
    async (bad) => {
      const { store, kernels } = storeOf([decayed('w', 2)]);
      const { weights, gradients, firstMoments } = store.get('w');
      weights.fill(1);
      gradients.set([1, bad]);
      const error = await failureOf('training', () => stepAdamW(store, kernels, { step: 1, learningRate: 0.1 }));
      expect(error.message).toContain('gradient norm of step 1');
      expect([...weights, ...firstMoments]).toEqual([1, 1, 0, 0]);
    },
  );

  it('steps from accumulated batches as from the one large batch, clipping included', () => {
    const whole = storeOf([decayed('w', 2)]);
    whole.store.get('w').gradients.set([4, 2]);
    const parts = storeOf([decayed('w', 2)], true);
    // Means over 1 and 3 rows whose mean over all four is [4, 2].
    for (const [rows, gradients] of [
      [1, [1, 5]],
      [3, [5, 1]],
    ] as const) {
      parts.store.get('w').gradients.set(gradients);
      parts.store.accumulateGradients(rows);
    }
    const norms = [whole, parts].map(({ store, kernels }) =>
      stepAdamW(store, kernels, { step: 1, learningRate: 0.1, maxGradientNorm: 0.5 }),
    );
    expect(norms[1]).toBeCloseTo(Math.sqrt(20), 6);
    expect(norms[0]).toBeCloseTo(Math.sqrt(20), 6);
    expect(parts.store.get('w').firstMoments).toEqual(whole.store.get('w').firstMoments);
    expect(parts.store.get('w').weights).toEqual(whole.store.get('w').weights);
    expect(() => parts.store.gradientScale).toThrow('no gradients were accumulated');
  });
});
