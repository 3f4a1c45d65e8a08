import type { AdamWArrays, Kernels } from '../kernels/index.js';
import { adamWUpdate, FIRST_MOMENTS, SECOND_MOMENTS } from './adamw-update.js';
import { clippingOf, named, type Optimizer, type OptimizerKind, type StepOptions } from './optimizer.js';
import type { ParameterRegion, ParameterStore } from './parameter-store.js';

export interface AdamWOptions {
  /** Decay of the running mean of gradients. Default 0.9. */
  readonly beta1?: number;
  /** Decay of the running mean of squared gradients. Default 0.999. */
  readonly beta2?: number;
  /** Added to the root of the second moment. Default 1e-8. */
  readonly epsilon?: number;
  /**
   * Decoupled weight decay: each step takes learning rate · this share off every decayed weight. Default
   * 0.01.
   */
  readonly weightDecay?: number;
}

/**
 * AdamW (Loshchilov & Hutter 2019, algorithm 2) with epsilon added to the bias-corrected root, as in PyTorch.
 */
export function adamW({
  beta1 = 0.9,
  beta2 = 0.999,
  epsilon = 1e-8,
  weightDecay = 0.01,
}: AdamWOptions = {}): OptimizerKind {
  const options = { beta1, beta2, epsilon, weightDecay };
  return {
    slots: [FIRST_MOMENTS, SECOND_MOMENTS],
    create: (store, kernels) => new AdamWOptimizer(store, kernels, options),
    update: adamWUpdate(options),
  };
}

class AdamWOptimizer implements Optimizer {
  steps = 0;
  readonly #store: ParameterStore;
  readonly #kernels: Kernels;
  readonly #options: Required<AdamWOptions>;
  readonly #regions: readonly (AdamWArrays & { readonly decay: boolean })[];

  constructor(store: ParameterStore, kernels: Kernels, options: Required<AdamWOptions>) {
    this.#store = store;
    this.#kernels = kernels;
    this.#options = options;
    this.#regions = store.regions.map(withMoments);
  }

  step(learningRate: number, options: StepOptions = {}): number {
    const meanScale = this.#store.gradientScale;
    const norm = meanScale * this.#gradientNorm();
    const clip = clippingOf(norm, this.steps + 1, options);
    this.steps += 1;
    this.#update(learningRate, meanScale * clip);
    this.#store.clearAccumulatedGradients();
    return norm;
  }

  #gradientNorm(): number {
    let squares = 0;
    for (const { gradients } of this.#regions) squares += this.#kernels.sumOfSquares(gradients);
    return Math.sqrt(squares);
  }

  #update(learningRate: number, gradientScale: number): void {
    const { beta1, beta2, epsilon, weightDecay } = this.#options;
    const scalars = {
      gradientScale,
      beta1,
      beta2,
      stepSize: learningRate / (1 - beta1 ** this.steps),
      rootScale: 1 / Math.sqrt(1 - beta2 ** this.steps),
      epsilon,
    };
    for (const region of this.#regions) {
      this.#kernels.adamW(region, { ...scalars, shrink: region.decay ? 1 - learningRate * weightDecay : 1 });
    }
  }
}

function withMoments({ slots, ...region }: ParameterRegion) {
  const [firstMoments, secondMoments] = [named(slots, FIRST_MOMENTS), named(slots, SECOND_MOMENTS)];
  return { ...region, firstMoments, secondMoments };
}
