import { describe, expect, it } from 'vitest';
import { Random } from '../../src/random.js';
import { AdamWOptimizer } from '../../src/training/adamw-optimizer.js';
import { decayed, storeOf, undecayed } from './parameters.js';

describe('AdamWOptimizer', () => {
  it('follows three steps worked by hand', () => {
    const { store, kernels } = storeOf([decayed('w', 1)]);
    const optimizer = new AdamWOptimizer(store, kernels, { beta1: 0.5, beta2: 0.75, weightDecay: 0.1 });
    const { weights, gradients } = store.get('w');
    weights[0] = 1;
    // gradient   m        m̂       v         v̂        m̂ / √v̂
    //  1         1/2      1       1/4       1        1
    // −2        −3/4     −1       19/16     19/7    −1 / √(19/7)
    //  3         9/8      9/7     201/64    201/37   (9/7) / √(201/37)
    let expected = 1;
    for (const [gradient, direction] of [
      [1, 1],
      [-2, -1 / Math.sqrt(19 / 7)],
      [3, 9 / 7 / Math.sqrt(201 / 37)],
    ] as const) {
      gradients[0] = gradient;
      optimizer.step(0.2);
      expected = expected * (1 - 0.2 * 0.1) - 0.2 * direction;
      expect(weights[0]).toBeCloseTo(expected, 6);
    }
    expect(optimizer.steps).toBe(3);
  });

  it('moves by the learning rate at each step while the gradient stays the same, whatever its size', () => {
    const { store, kernels } = storeOf([undecayed('b', 3)]);
    const optimizer = new AdamWOptimizer(store, kernels);
    const { weights, gradients } = store.get('b');
    gradients.set([1e-3, 5, -1000]);
    for (let step = 0; step < 3; step++) optimizer.step(0.01);
    [-0.03, -0.03, 0.03].forEach((value, index) => {
      expect(weights[index]).toBeCloseTo(value, 6);
    });
  });

  it('adds epsilon to the root of the corrected second moment', () => {
    const { store, kernels } = storeOf([undecayed('b', 1)]);
    store.get('b').gradients[0] = 3;
    new AdamWOptimizer(store, kernels, { epsilon: 1 }).step(0.1);
    expect(store.get('b').weights[0]).toBeCloseTo((-0.1 * 3) / (3 + 1), 6);
  });

  it('decays the decayed parameters alone, and without a gradient too', () => {
    const { store, kernels } = storeOf([decayed('w', 2), undecayed('b', 2)]);
    store.get('w').weights.fill(1);
    store.get('b').weights.fill(1);
    new AdamWOptimizer(store, kernels, { weightDecay: 0.5 }).step(0.1);
    expect(store.get('w').weights[1]).toBeCloseTo(0.95, 6);
    expect(store.get('b').weights[1]).toBe(1);
  });

  it('returns the joint norm of all gradients and clips it to the bound', () => {
    const { store, kernels } = storeOf([decayed('w', 1), undecayed('b', 1)]);
    store.get('w').gradients[0] = 3;
    store.get('b').gradients[0] = -4;
    const optimizer = new AdamWOptimizer(store, kernels);
    expect(optimizer.step(0.1, { maxGradientNorm: 1 })._unsafeUnwrap()).toBe(5);
    // After one step the first moment is a tenth of the clipped gradient.
    expect(store.get('w').firstMoments[0]).toBeCloseTo(0.06, 6);
    expect(store.get('b').firstMoments[0]).toBeCloseTo(-0.08, 6);
  });

  it('leaves gradients within the bound as they are', () => {
    const { store, kernels } = storeOf([decayed('w', 1)]);
    store.get('w').gradients[0] = 3;
    new AdamWOptimizer(store, kernels).step(0.1, { maxGradientNorm: 3 });
    expect(store.get('w').firstMoments[0]).toBeCloseTo(0.3, 6);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY])(
    'refuses a step with gradient %f and changes nothing',
    (bad) => {
      const { store, kernels } = storeOf([decayed('w', 2)]);
      const { weights, gradients, firstMoments } = store.get('w');
      weights.fill(1);
      gradients.set([1, bad]);
      const optimizer = new AdamWOptimizer(store, kernels);
      const error = optimizer.step(0.1)._unsafeUnwrapErr();
      expect(error.code).toBe('training');
      expect(error.message).toContain('gradient norm of step 1');
      expect([...weights, ...firstMoments, optimizer.steps]).toEqual([1, 1, 0, 0, 0]);
    },
  );

  it('steps from accumulated batches as from the one large batch, clipping included', () => {
    const whole = storeOf([decayed('w', 2)]);
    whole.store.get('w').gradients.set([4, 2]);
    const parts = storeOf([decayed('w', 2)], { accumulate: true });
    // Means over 1 and 3 rows whose mean over all four is [4, 2].
    for (const [rows, gradients] of [
      [1, [1, 5]],
      [3, [5, 1]],
    ] as const) {
      parts.store.get('w').gradients.set(gradients);
      parts.store.accumulateGradients(rows);
    }
    const norms = [whole, parts].map(({ store, kernels }) =>
      new AdamWOptimizer(store, kernels).step(0.1, { maxGradientNorm: 0.5 })._unsafeUnwrap(),
    );
    expect(norms[1]).toBeCloseTo(Math.sqrt(20), 6);
    expect(norms[0]).toBeCloseTo(Math.sqrt(20), 6);
    expect(parts.store.get('w').firstMoments).toEqual(whole.store.get('w').firstMoments);
    expect(parts.store.get('w').weights).toEqual(whole.store.get('w').weights);
    expect(() => parts.store.gradientScale).toThrow('no gradients were accumulated');
  });
});

describe('the state of an AdamWOptimizer', () => {
  const definitions = [decayed('w', 5, 3), undecayed('b', 5)];

  /** Trains on made-up gradients that depend on the step alone. */
  function train({ store, optimizer }: ReturnType<typeof fresh>, from: number, to: number): void {
    for (let step = from; step < to; step++) {
      const random = Random.fromSeed(step);
      for (const { gradients } of store.parameters) gradients.set(gradients.map(() => random.normal()));
      optimizer.step(0.01, { maxGradientNorm: 1 });
    }
  }

  function fresh() {
    const { store, kernels } = storeOf(definitions);
    return { store, optimizer: new AdamWOptimizer(store, kernels) };
  }

  it('restored with the weights, continues bit for bit', () => {
    const uninterrupted = fresh();
    train(uninterrupted, 0, 6);

    const first = fresh();
    train(first, 0, 3);
    const state = first.optimizer.state();
    const weights = first.store.parameters.map((parameter) => parameter.weights.slice());
    train(first, 3, 5); // The saved copies must not follow.

    const second = fresh();
    expect(second.optimizer.restore(state).isOk()).toBe(true);
    second.store.parameters.forEach((parameter, index) => {
      parameter.weights.set(weights[index] ?? []);
    });
    train(second, 3, 6);
    expect(second.optimizer.steps).toBe(6);
    expect(second.store.parameters.map((parameter) => parameter.weights)).toEqual(
      uninterrupted.store.parameters.map((parameter) => parameter.weights),
    );
  });

  it('is refused whole where a parameter is missing or has another size', () => {
    const trained = fresh();
    train(trained, 0, 1);
    const state = trained.optimizer.state();
    const without = { ...state, moments: new Map([...state.moments].filter(([name]) => name !== 'b')) };
    const short = new Float32Array(4);
    const resized = { ...state, moments: new Map(state.moments).set('b', { first: short, second: short }) };

    const target = fresh();
    expect(target.optimizer.restore(without)._unsafeUnwrapErr().message).toContain(
      'parameter b: its moments are',
    );
    expect(target.optimizer.restore(resized)._unsafeUnwrapErr().message).toContain('4 elements, expected 5');
    expect(target.optimizer.steps).toBe(0);
    expect(target.store.get('w').firstMoments).toEqual(new Float32Array(15));
  });
});
