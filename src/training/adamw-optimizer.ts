import { err, ok, Result } from 'neverthrow';
import { TrainingError } from '../errors.js';
import type { Kernels } from '../kernels/index.js';
import type { Parameter, ParameterStore } from './parameter-store.js';

export interface AdamWOptions {
  /** Decay of the running mean of gradients. Default 0.9. */
  readonly beta1?: number;
  /** Decay of the running mean of squared gradients. Default 0.999. */
  readonly beta2?: number;
  /** Added to the root of the second moment. Default 1e-8. */
  readonly epsilon?: number;
  /** Share of a weight that a step at learning rate 1 would take off. Default 0.01. */
  readonly weightDecay?: number;
}

export interface StepOptions {
  /** Scales all gradients down together so that their joint Euclidean norm is at most this. Default: no bound. */
  readonly maxGradientNorm?: number;
}

/** What a parameter's moments were; copies, row-major in the parameter's shape. */
export interface Moments {
  readonly first: Float32Array;
  readonly second: Float32Array;
}

/** All that a checkpoint must keep of an optimizer, beside the weights. */
export interface AdamWState {
  /** Steps taken. */
  readonly steps: number;
  /** By parameter name. */
  readonly moments: ReadonlyMap<string, Moments>;
}

/** AdamW (Loshchilov & Hutter 2019, algorithm 2) with epsilon outside the root's bias correction, as in PyTorch. */
export class AdamWOptimizer {
  readonly #store: ParameterStore;
  readonly #kernels: Kernels;
  readonly #options: Required<AdamWOptions>;
  #steps = 0;

  constructor(
    store: ParameterStore,
    kernels: Kernels,
    { beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weightDecay = 0.01 }: AdamWOptions = {},
  ) {
    this.#store = store;
    this.#kernels = kernels;
    this.#options = { beta1, beta2, epsilon, weightDecay };
  }

  /** Steps taken so far. */
  get steps(): number {
    return this.#steps;
  }

  /**
   * Updates every weight from the store's gradients, and starts a new sum where the store accumulates them.
   * @returns the Euclidean norm of all gradients before clipping; or a TrainingError, with nothing changed, where it
   *   isn't finite.
   */
  step(learningRate: number, { maxGradientNorm }: StepOptions = {}): Result<number, TrainingError> {
    const meanScale = this.#store.gradientScale;
    const norm = meanScale * this.#gradientNorm();
    if (!Number.isFinite(norm)) {
      return err(
        new TrainingError(
          `training diverged: the gradient norm of step ${this.#steps + 1} is ${norm}; use a lower learning_rate`,
        ),
      );
    }
    const clip = maxGradientNorm !== undefined && norm > maxGradientNorm ? maxGradientNorm / norm : 1;
    this.#steps += 1;
    this.#update(learningRate, meanScale * clip);
    this.#store.clearAccumulatedGradients();
    return ok(norm);
  }

  /** A copy of the moments and the step count, to be passed to {@link AdamWOptimizer.restore}. */
  state(): AdamWState {
    const moments = this.#store.parameters.map(({ name, firstMoments, secondMoments }): [string, Moments] => [
      name,
      { first: firstMoments.slice(), second: secondMoments.slice() },
    ]);
    return { steps: this.#steps, moments: new Map(moments) };
  }

  /** Goes on from a state of the same parameters. A TrainingError, with nothing changed, where one doesn't fit. */
  restore(state: AdamWState): Result<void, TrainingError> {
    const fitting = Result.combine(
      this.#store.parameters.map((parameter) =>
        fittingMoments(parameter, state).map((moments) => ({ parameter, moments })),
      ),
    );
    if (fitting.isErr()) return err(fitting.error);
    for (const { parameter, moments } of fitting.value) {
      parameter.firstMoments.set(moments.first);
      parameter.secondMoments.set(moments.second);
    }
    this.#steps = state.steps;
    return ok();
  }

  #gradientNorm(): number {
    let squares = 0;
    for (const { gradients } of this.#store.regions) squares += this.#kernels.sumOfSquares(gradients);
    return Math.sqrt(squares);
  }

  #update(learningRate: number, gradientScale: number): void {
    const { beta1, beta2, epsilon, weightDecay } = this.#options;
    const scalars = {
      gradientScale,
      beta1,
      beta2,
      stepSize: learningRate / (1 - beta1 ** this.#steps),
      rootScale: 1 / Math.sqrt(1 - beta2 ** this.#steps),
      epsilon,
    };
    for (const region of this.#store.regions) {
      this.#kernels.adamW(region, { ...scalars, shrink: region.decay ? 1 - learningRate * weightDecay : 1 });
    }
  }
}

function fittingMoments({ name, weights }: Parameter, state: AdamWState): Result<Moments, TrainingError> {
  const mismatch = (problem: string) =>
    err(
      new TrainingError(`checkpoint, parameter ${name}: ${problem}; it belongs to another model, start anew`),
    );
  const moments = state.moments.get(name);
  if (moments === undefined) return mismatch('its moments are missing');
  const wrong = [moments.first, moments.second].find(({ length }) => length !== weights.length);
  if (wrong) return mismatch(`its moments have ${wrong.length} elements, expected ${weights.length}`);
  return ok(moments);
}
