import type { TrainSettings } from '../training/train-options.js';
import type { TrialSettings } from './space.js';

/** The training of a trial: the application's options, and the trial's own settings in their places. */
export function trialTraining(
  training: TrainSettings,
  { labelSmoothing, tokenDropout, classWeights, adapters, freeze, ...own }: TrialSettings,
  epochs: number | undefined,
): TrainSettings {
  const tuning = {
    ...training.tuning,
    ...(labelSmoothing !== undefined && { labelSmoothing }),
    ...(tokenDropout !== undefined && { tokenDropout }),
    ...(classWeights !== undefined && { classWeights }),
    ...(adapters !== undefined && adapters !== 'none' && { adapters }),
    ...(freeze !== undefined && freeze !== 'nothing' && { freeze }),
  };
  return { ...training, ...own, tuning, epochs };
}

/**
 * The same without 8-bit weights, for a model that is only compared: to make and check them takes most of the time of a
 * training on few rows.
 */
export function inFloats(training: TrainSettings): TrainSettings {
  return { ...training, tuning: { ...training.tuning, quantize: false } };
}
