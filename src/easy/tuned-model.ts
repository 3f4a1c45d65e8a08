import { type ModelFolderConfig, readConfig } from '../model-folder/index.js';
import type { PlacedModel } from './base-model.js';
import type { TunedModel } from './model.js';
import { OpenModel, type OpenOptions } from './open-model.js';
import { OpenTrainedModel } from './trained-model.js';
import type { TrainingSummary } from './training/training-summary.js';
import type { TuningSummary } from './tuning/trial.js';

/** The best model of a search. */
export class OpenTunedModel extends OpenTrainedModel implements TunedModel {
  readonly tuning: TuningSummary;

  private constructor(
    placed: PlacedModel,
    config: ModelFolderConfig,
    training: TrainingSummary,
    tuning: TuningSummary,
    options: OpenOptions,
  ) {
    super(placed, config, training, options);
    this.tuning = tuning;
  }

  /** @throws as `OpenModel.open` does */
  static async openTuned(
    placed: PlacedModel,
    training: TrainingSummary,
    tuning: TuningSummary,
    options: OpenOptions,
  ): Promise<OpenTunedModel> {
    const config = await readConfig(placed.directory);
    return OpenModel.loaded(new OpenTunedModel(placed, config, training, tuning, options), options);
  }
}
