import type { EncoderTraits } from '../../../../src/encoder/index.js';
import { type BatchGradients, type GradientEngine, padBatch } from '../../../../src/engine/index.js';
import type { LearningBatch, Objective } from './objective.js';

/**
 * The gradients of an objective's loss. Every batch is one run, as its texts may be compared with each other.
 */
export class ObjectiveGradients implements BatchGradients {
  readonly lengths: readonly number[];
  /** Tokens trained on, padding not counted. */
  tokens = 0;
  readonly #engine: GradientEngine;
  readonly #objective: Objective;
  readonly #encoder: Pick<EncoderTraits, 'padId' | 'firstPosition'>;

  constructor(engine: GradientEngine, objective: Objective, encoder: Pick<EncoderTraits, 'padId' | 'firstPosition'>) {
    this.#engine = engine;
    this.#objective = objective;
    this.#encoder = encoder;
    this.lengths = objective.lengths;
  }

  async compute(examples: readonly number[], step: number): Promise<number> {
    const batch = this.#objective.batch(examples, step);
    this.tokens += batch.encodings.reduce((sum, { ids }) => sum + ids.length, 0);
    return this.loss(batch);
  }

  /** The loss of one batch. Its gradients replace those in the store. */
  loss({ encodings, feeds }: LearningBatch): Promise<number> {
    return this.#engine.run(padBatch(encodings, this.#encoder), { feeds, weight: encodings.length });
  }
}
