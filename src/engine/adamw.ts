import { TrainingError } from '../contract/index.js';
import type { Graph, Tensor } from '../graph/index.js';
import type { Kernels } from './kernels/kernels.js';
import type { ParameterStore } from './parameters.js';

/** AdamW (Loshchilov & Hutter 2019, algorithm 2), as kernel calls on arrays and as operations of a graph. */

export interface AdamWOptions {
  /** Decay of the running mean of gradients. Default 0.9. */
  readonly beta1?: number;
  /** Decay of the running mean of squared gradients. Default 0.999. */
  readonly beta2?: number;
  /** Added to the root of the second moment. Default 1e-8. */
  readonly epsilon?: number;
  /** Decoupled weight decay: each step takes learning rate · this share off every decayed weight. Default 0.01. */
  readonly weightDecay?: number;
}

const DEFAULTS: Required<AdamWOptions> = { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.01 };

export interface StepOptions {
  /** Scales all gradients down together so that their joint Euclidean norm is at most this. Default: no bound. */
  readonly maxGradientNorm?: number;
}

/** One step; `step` counts from 1. */
export interface AdamWStep extends StepOptions {
  readonly step: number;
  readonly learningRate: number;
}

/**
 * Updates every weight from the store's gradients. If the store accumulates them, it then starts a new sum.
 * @param kernels loaded over the store's arena.
 * @returns the Euclidean norm of all gradients before clipping.
 * @throws TrainingError if that norm isn't finite; nothing is changed then
 */
export function stepAdamW(store: ParameterStore, kernels: Kernels, taken: AdamWStep, options?: AdamWOptions): number {
  const { step, learningRate } = taken;
  const { beta1, beta2, epsilon, weightDecay } = { ...DEFAULTS, ...options };
  const meanScale = store.gradientScale;
  let squares = 0;
  for (const { gradients } of store.regions) squares += kernels.sumOfSquares(gradients);
  const norm = meanScale * Math.sqrt(squares);
  const scalars = {
    gradientScale: meanScale * clippingFactor(norm, taken),
    beta1,
    beta2,
    stepSize: learningRate / (1 - beta1 ** step),
    rootScale: 1 / Math.sqrt(1 - beta2 ** step),
    epsilon,
  };
  for (const region of store.regions) {
    kernels.adamW(region, { ...scalars, shrink: region.decay ? 1 - learningRate * weightDecay : 1 });
  }
  store.clearAccumulatedGradients();
  return norm;
}

/** @throws TrainingError if the norm isn't finite. */
export function clippingFactor(norm: number, { step, maxGradientNorm }: AdamWStep): number {
  if (!Number.isFinite(norm)) {
    throw new TrainingError(
      `training diverged: the gradient norm of step ${step} is ${norm}; use a lower \`learningRate\``,
    );
  }
  return maxGradientNorm !== undefined && norm > maxGradientNorm ? maxGradientNorm / norm : 1;
}

export interface AdamWTensors<T> {
  readonly weights: T;
  readonly firstMoments: T;
  readonly secondMoments: T;
}

interface UpdatedParameter extends AdamWTensors<Tensor> {
  readonly gradients: Tensor;
  readonly decay: boolean;
}

interface Scalars<T> {
  readonly firstShare: T;
  readonly secondShare: T;
  readonly rate: T;
  readonly epsilon: T;
  readonly shrink: T;
}

export function adamWInputs(graph: Graph): Scalars<Tensor> {
  const input = (name: keyof Scalars<Tensor>) => graph.input(name, 'float32', []);
  return {
    firstShare: input('firstShare'),
    secondShare: input('secondShare'),
    rate: input('rate'),
    epsilon: input('epsilon'),
    shrink: input('shrink'),
  };
}

/** @param gradientScale multiplies every gradient: the mean over a step's runs, and the clipping. */
export function adamWScalars(
  { step, learningRate }: AdamWStep,
  gradientScale: number,
  options?: AdamWOptions,
): Scalars<number> {
  const { beta1, beta2, epsilon, weightDecay } = { ...DEFAULTS, ...options };
  const root = Math.sqrt(1 - beta2 ** step);
  return {
    firstShare: (1 - beta1) * gradientScale,
    secondShare: (1 - beta2) * gradientScale ** 2,
    rate: (learningRate * root) / (1 - beta1 ** step),
    epsilon: epsilon * root,
    shrink: 1 - learningRate * weightDecay,
  };
}

/**
 * Adds the update of one parameter to a graph: what the kernel `adamW` computes, but for rounding. Every operation is a
 * pass over memory, so what depends on the step alone is folded into five numbers:
 * m ← β₁·m + firstShare·g, v ← β₂·v + secondShare·g², w ← shrink·w − rate·m / (√v + epsilon),
 * with firstShare = (1 − β₁)·s and secondShare = (1 − β₂)·s² for the scale s of the gradients, and the correction of
 * both moments in rate and epsilon.
 */
export function addAdamW(
  graph: Graph,
  { weights, gradients, firstMoments, secondMoments, decay }: UpdatedParameter,
  scalars: Scalars<Tensor>,
  options?: AdamWOptions,
): AdamWTensors<Tensor> {
  const { beta1, beta2 } = { ...DEFAULTS, ...options };
  const squares = graph.multiply(gradients, gradients);
  const first = graph.add(graph.scale(firstMoments, beta1), graph.multiply(gradients, scalars.firstShare));
  const second = graph.add(graph.scale(secondMoments, beta2), graph.multiply(squares, scalars.secondShare));
  const direction = graph.divide(first, graph.add(graph.sqrt(second), scalars.epsilon));
  const kept = decay ? graph.multiply(weights, scalars.shrink) : weights;
  return {
    weights: graph.subtract(kept, graph.multiply(direction, scalars.rate)),
    firstMoments: first,
    secondMoments: second,
  };
}
