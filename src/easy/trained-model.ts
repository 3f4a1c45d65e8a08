import { type ModelFolderConfig, readConfig } from '../model-folder/index.js';
import type { PlacedModel } from './base-model.js';
import type { Evaluation } from './evaluation/index.js';
import type { TrainedModel } from './model.js';
import { OpenModel, type OpenOptions } from './open-model.js';
import type { TrainingSummary } from './training/training-summary.js';

/** A model that was just trained. */
export class OpenTrainedModel extends OpenModel implements TrainedModel {
  #training: TrainingSummary;

  protected constructor(
    placed: PlacedModel,
    config: ModelFolderConfig,
    training: TrainingSummary,
    options: OpenOptions,
  ) {
    super(placed, config, options);
    this.#training = training;
  }

  /** @throws as `OpenModel.open` does */
  static async openTrained(
    placed: PlacedModel,
    training: TrainingSummary,
    options: OpenOptions,
  ): Promise<OpenTrainedModel> {
    const config = await readConfig(placed.directory);
    return OpenModel.loaded(new OpenTrainedModel(placed, config, training, options), options);
  }

  get training(): TrainingSummary {
    return this.#training;
  }

  /** Adds figures on test rows to its summary. */
  judgedBy(test: Evaluation): this {
    this.#training = { ...this.#training, test };
    return this;
  }
}
