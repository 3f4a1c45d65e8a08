import type { OpenOptions } from '../inference/index.js';
import type { FoundModel } from '../models/index.js';
import type { Evaluation } from './evaluate.js';
import type { TrainedModel } from './model.js';
import { OpenModel, type OpenParts } from './open-model.js';
import type { TrainingSummary } from './training/training-summary.js';

/** A model that was just trained. */
export class OpenTrainedModel extends OpenModel implements TrainedModel {
  training: TrainingSummary;

  private constructor(parts: OpenParts, training: TrainingSummary) {
    super(parts);
    this.training = training;
  }

  /** @throws as `OpenModel.open` does */
  static async openTrained(
    placed: FoundModel,
    training: TrainingSummary,
    options: OpenOptions,
  ): Promise<OpenTrainedModel> {
    return new OpenTrainedModel(await OpenModel.parts(placed, options), training);
  }

  /** Adds the figures on test rows to the summary. */
  judgedBy(test: Evaluation): this {
    this.training = { ...this.training, test };
    return this;
  }
}
