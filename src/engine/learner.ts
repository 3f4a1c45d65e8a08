import type { DropoutState } from '../kernels/index.js';
import type { BatchGradients } from './batch-gradients.js';
import type { GradientEngine } from './gradient-engine.js';
import { lengthBatches } from './length-batches.js';

export interface LearnerOptions {
  readonly engine: GradientEngine;
  readonly gradients: BatchGradients;
  /** Examples of a batch, at most. */
  readonly batchSize: number;
  /** Decides the order of the examples. */
  readonly seed: number;
  /** Gradients are scaled down to this joint norm. */
  readonly maxGradientNorm: number;
}

/** Where the learning stands, beside weights and optimizer slots: all of its random state. */
export interface LearnerState {
  /** Epochs completed. */
  readonly epoch: number;
  /** Batches of the present epoch that were read. */
  readonly batch: number;
  /** Optimizer steps taken. */
  readonly steps: number;
  readonly dropout: DropoutState;
}

export interface LearnedStep {
  /** Mean loss of the batch. */
  readonly loss: number;
  readonly examples: number;
}

/** Learns from examples, a batch a step and epoch after epoch; can be stopped and taken up between any two steps. */
export class Learner {
  readonly #options: LearnerOptions;
  #batches: readonly (readonly number[])[] = [];
  #epoch = 0;
  #batch = 0;

  constructor(options: LearnerOptions) {
    this.#options = options;
    this.#shuffle();
  }

  get state(): LearnerState {
    const { optimizer, dropoutState } = this.#options.engine;
    return { epoch: this.#epoch, batch: this.#batch, steps: optimizer.steps, dropout: dropoutState };
  }

  /** Goes on from a state; weights and optimizer slots are the store's and restored with it. */
  set state({ epoch, batch, steps, dropout }: LearnerState) {
    const { engine } = this.#options;
    engine.optimizer.steps = steps;
    engine.dropoutState = dropout;
    this.#epoch = epoch;
    this.#shuffle();
    this.#batch = batch;
  }

  get stepsPerEpoch(): number {
    return Math.ceil(this.#options.gradients.lengths.length / this.#options.batchSize);
  }

  /** Reads the next batch and takes one optimizer step. @throws TrainingError where training diverged */
  async step(learningRate: number): Promise<LearnedStep> {
    const { engine, gradients, maxGradientNorm } = this.#options;
    const batch = this.#batches[this.#batch] ?? [];
    const loss = await gradients.compute(batch, engine.optimizer.steps);
    engine.optimizer.step(learningRate, { maxGradientNorm });
    this.#batch += 1;
    if (this.#batch >= this.#batches.length) {
      this.#epoch += 1;
      this.#shuffle();
    }
    return { loss, examples: batch.length };
  }

  #shuffle(): void {
    const { gradients, batchSize, seed } = this.#options;
    this.#batch = 0;
    this.#batches = lengthBatches(gradients.lengths, { batchSize, seed, epoch: this.#epoch });
  }
}
