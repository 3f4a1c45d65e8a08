/** What `tune` takes. */
import * as z from 'zod';
import { validate } from '../../contract/index.js';
import { invalid, type TrainingRow } from '../rows/index.js';
import {
  callback,
  settingsFrom,
  type TrainOptions,
  type TrainSettings,
  trainSchema,
} from '../training/train-options.js';
import { settledIn } from './default-space.js';
import { type CheckedSpace, type SearchSpace, searchedSettings, spaceSchema } from './space.js';
import type { Trial } from './trial.js';

/**
 * What to train on, and what to search. Options of the training hold for every trial; `onProgress` is told of each of
 * them, and `seed` decides the trials too.
 */
export interface TuneOptions<Row extends TrainingRow = TrainingRow> extends TrainOptions<Row> {
  /**
   * Seconds that reading and searching may take. No trial begins that would take longer; one that does is stopped. Opening the
   * best model, and judging it by `test`, come on top. Default: no limit.
   */
  readonly budgetSeconds?: number | undefined;
  /** Most trials, the one with the defaults included, 1 to 1,000. Default 20; with `budgetSeconds`, as many as it allows. */
  readonly trials?: number | undefined;
  /** What to try. Default: learning rate, batch size and more, around their defaults (docs/tuning.md). */
  readonly space?: SearchSpace | undefined;
  /** Called when a run of a trial begins and when it ends. What it throws ends the search. */
  readonly onTrial?: ((trial: Trial) => void) | undefined;
}

const MOST_TRIALS = 1000;
const DEFAULT_TRIALS = 20;

const tuneSchema = z.strictObject({
  ...trainSchema.shape,
  budgetSeconds: z.number().positive().max(2_000_000).optional(),
  trials: z.int().min(1).max(MOST_TRIALS).optional(),
  space: spaceSchema.optional(),
  onTrial: callback<(trial: Trial) => void>().optional(),
});

/** The options, checked, with the defaults filled in. */
export interface TuneSettings {
  readonly training: TrainSettings;
  readonly budgetSeconds: number | undefined;
  readonly trials: number;
  readonly space: CheckedSpace | undefined;
  readonly onTrial: ((trial: Trial) => void) | undefined;
}

/** @throws ValidationError */
export function tuneSettings(options: unknown): TuneSettings {
  const { budgetSeconds, trials, space, onTrial, ...rest } = validate(tuneSchema, options ?? {});
  const training = settingsFrom(rest);
  const twice = space && searchedSettings(space).find((name) => settledIn(training).includes(name));
  if (twice !== undefined) {
    throw invalid(
      ['space', twice],
      `${twice} is among the options too, where it has one value; give one of the two`,
    );
  }
  const most = budgetSeconds === undefined ? DEFAULT_TRIALS : MOST_TRIALS;
  return { training, budgetSeconds, trials: trials ?? most, space, onTrial };
}
