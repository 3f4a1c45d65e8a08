/** What is tried where the application does not say. */
import type { TrainSettings } from '../training/train-options.js';
import { type CheckedSpace, type SettingName, settingNames } from './space.js';

/** What the trial with the defaults was trained with. */
export interface DefaultSettings {
  readonly learningRate: number;
  readonly batchSize: number;
  /** Rows that it learned from. */
  readonly rows: number;
  /** Whether its task is told by labels: not question answering. */
  readonly hasLabels: boolean;
}

/** How far from the default learning rate is tried, as a factor. */
const RATE_FACTOR = 4;
/** Edited copies of rows are tried up to so many rows: they are made for small datasets. */
const SMALL_DATASET = 2000;

/** Around the defaults, leaving out what the options settle. */
export function defaultSpace(defaults: DefaultSettings, settings: TrainSettings): CheckedSpace {
  const { learningRate, batchSize, rows, hasLabels } = defaults;
  const sizes = [batchSize / 2, batchSize, 2 * batchSize].map(Math.round);
  const space: CheckedSpace = {
    learningRate: {
      min: learningRate / RATE_FACTOR,
      max: Math.min(1, learningRate * RATE_FACTOR),
      scale: 'log',
    },
    batchSize: sizes.filter((size) => size === batchSize || (size >= 4 && size <= rows && size <= 1024)),
    tokenDropout: [0, 0.05, 0.1, 0.15, 0.25],
    ...(hasLabels && { labelSmoothing: [0, 0.05, 0.1, 0.2], classWeights: ['none', 'balanced'] }),
    ...(rows < SMALL_DATASET && { augment: [false, true] }),
  };
  const open = Object.entries(space).filter(([name]) => !settledIn(settings).some((each) => each === name));
  return Object.fromEntries(open);
}

/** The settings that the options of the training have values for. */
export function settledIn(settings: TrainSettings): readonly SettingName[] {
  const { learningRate, batchSize, epochs, augment, lowercase, base, tuning = {} } = settings;
  const { labelSmoothing, tokenDropout, classWeights, adapters, freeze } = tuning;
  const given: { readonly [Name in SettingName]?: unknown } = {
    ...{ learningRate, batchSize, epochs, augment, lowercase, base },
    ...{ labelSmoothing, tokenDropout, classWeights, adapters, freeze },
  };
  return settingNames.filter((name) => given[name] !== undefined);
}
