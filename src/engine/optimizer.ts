import { TrainingError } from '../errors.js';
import type { Graph, Tensor } from '../graph/index.js';
import type { Kernels } from '../kernels/index.js';
import type { ParameterStore } from './parameter-store.js';

export interface StepOptions {
  /**
   * Scales all gradients down together so that their joint Euclidean norm is at most this. Default: no bound.
   */
  readonly maxGradientNorm?: number;
}

/** An update rule, such as AdamW. Its state for each weight lies in the store's slots. */
export interface OptimizerKind {
  /** Names of the arrays that it keeps beside the weights; checkpoints store them under these names. */
  readonly slots: readonly string[];
  /** @param store made with these slots. @param kernels loaded over the store's arena. */
  create(store: ParameterStore, kernels: Kernels): Optimizer;
  /**
   * The same rule as operations of a graph, for weights that stay in an executor's memory. Default: none, and the
   * weights of every training with this optimizer are kept in this process's memory.
   */
  readonly update?: UpdateRule;
}

export interface Optimizer {
  /** Steps taken; set when training is resumed from a checkpoint. */
  steps: number;
  /**
   * Updates every weight from the store's gradients. If the store accumulates them, it then starts a new sum.
   * @returns the Euclidean norm of all gradients before clipping.
   * @throws TrainingError if that norm isn't finite; nothing is changed then
   */
  step(learningRate: number, options?: StepOptions): number;
}

/** An update rule as part of a graph. */
export interface UpdateRule {
  /** Names of the numbers that change from step to step. */
  readonly scalars: readonly string[];
  /** The values of these numbers for one step. */
  scalarsAt(step: UpdateStep): Readonly<Record<string, number>>;
  /** Adds the update of one parameter. @returns its new weights and slots, all of its shape. */
  add(graph: Graph, parameter: UpdatedParameter): { readonly weights: Tensor; readonly slots: NamedTensors };
}

export interface UpdateStep {
  /** Counted from 1. */
  readonly step: number;
  readonly learningRate: number;
  /** What every gradient is to be multiplied by: the mean over a step's runs, and the clipping. */
  readonly gradientScale: number;
}

type NamedTensors = ReadonlyMap<string, Tensor>;

/** A parameter in the graph that updates it. */
export interface UpdatedParameter {
  readonly weights: Tensor;
  readonly gradients: Tensor;
  readonly slots: NamedTensors;
  /** By the rule's names; each is a single number. */
  readonly scalars: NamedTensors;
  /** Whether weight decay applies. */
  readonly decay: boolean;
}

/**
 * The factor that brings gradients to the bound on their joint norm; 1 if they are within it.
 * @param norm of all gradients of the step.
 * @param step counted from 1, for the message.
 * @throws TrainingError if the norm isn't finite.
 */
export function clippingOf(norm: number, step: number, { maxGradientNorm }: StepOptions): number {
  if (!Number.isFinite(norm)) {
    throw new TrainingError(
      `training diverged: the gradient norm of step ${step} is ${norm}; use a lower learning_rate`,
    );
  }
  return maxGradientNorm !== undefined && norm > maxGradientNorm ? maxGradientNorm / norm : 1;
}

/** A tensor by its name. @throws RangeError if there is none: the optimizer and its slots don't fit. */
export function named<T>(things: ReadonlyMap<string, T>, name: string): T {
  const thing = things.get(name);
  if (thing === undefined) throw new RangeError(`the store has no slot ${JSON.stringify(name)}`);
  return thing;
}
