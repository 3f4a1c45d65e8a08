import type { BatchGradients } from './batch-gradients.js';
import type { Engine, MaskState } from './engine.js';
import { lengthBatches } from './length-batches.js';

export interface LearnerOptions {
  readonly engine: Engine;
  readonly gradients: BatchGradients;
  /** Most examples of a batch. */
  readonly batchSize: number;
  /** Decides the order of the examples. */
  readonly seed: number;
  /** Bound on the gradients' joint norm; larger ones are scaled down to it. */
  readonly maxGradientNorm: number;
}

/** State of a training besides weights and optimizer slots: its position, and all of its random state. */
export interface LearnerState {
  /** Epochs completed. */
  readonly epoch: number;
  /** Batches of the current epoch already trained on. */
  readonly batch: number;
  /** Optimizer steps taken. */
  readonly steps: number;
  readonly dropout: MaskState;
}

export interface LearnedStep {
  /** Mean loss of the batch. */
  readonly loss: number;
  readonly examples: number;
}

/**
 * Trains on examples, one batch per step, epoch after epoch. Can be stopped and resumed between any two
 * steps.
 */
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
    const { steps, dropoutState } = this.#options.engine;
    return { epoch: this.#epoch, batch: this.#batch, steps, dropout: dropoutState };
  }

  /** Resumes from a state. Weights and optimizer slots belong to the store and are restored with it. */
  set state({ epoch, batch, steps, dropout }: LearnerState) {
    const { engine } = this.#options;
    engine.steps = steps;
    engine.dropoutState = dropout;
    this.#epoch = epoch;
    this.#shuffle();
    this.#batch = batch;
  }

  get stepsPerEpoch(): number {
    return Math.ceil(this.#options.gradients.lengths.length / this.#options.batchSize);
  }

  /** Trains on the next batch, in one optimizer step. @throws TrainingError if training diverged */
  async step(learningRate: number): Promise<LearnedStep> {
    const { engine, gradients, maxGradientNorm } = this.#options;
    const batch = this.#batches[this.#batch] ?? [];
    const loss = await gradients.compute(batch, engine.steps);
    await engine.step(learningRate, { maxGradientNorm });
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
