import type { ResultAsync } from 'neverthrow';
import { callResult, type OrchardError } from '../contract/index.js';
import type { TrainingRow } from '../datasets/index.js';
import type { Tuning } from '../training/index.js';
import type { AnswerTo } from './answers.js';
import type { TunedModel } from './model.js';
import { withAbsolutePaths } from './paths.js';
import type { SearchSpace, TrialSettings } from './search-space.js';
import type { TrainOptions } from './train.js';

/**
 * Options of {@link tune}. The training options apply to every trial; `onProgress` is called for each of them, and
 * `seed` also decides which settings are tried.
 */
export interface TuneOptions<Row extends TrainingRow = TrainingRow>
  extends Omit<TrainOptions<Row>, 'effort' | 'tuning'> {
  /** Further settings of all trials (docs/training.md). */
  readonly tuning?: Omit<Tuning, 'effort'> | undefined;
  /**
   * Time limit for reading the data and searching, in seconds. A trial that is expected to take longer is not started;
   * a trial that does take longer is stopped. Opening the best model and evaluating it on `test` take extra time.
   * Default: no limit.
   */
  readonly budgetSeconds?: number | undefined;
  /** Maximum number of trials, including the one with the defaults, 1 to 1,000. Default 20, or 1,000 with `budgetSeconds`. */
  readonly trials?: number | undefined;
  /** The settings to try. Default: learning rate, batch size and others, around their defaults (docs/tuning.md). */
  readonly space?: SearchSpace | undefined;
  /** Called when a run of a trial starts and when it ends. If it throws, the search ends. */
  readonly onTrial?: ((trial: Trial) => void) | undefined;
}

/** One run of a trial. */
export interface TrialRun {
  /** Maximum number of epochs; the learning rate falls to 0 within them. */
  readonly epochs: number;
  /** The metric on dev, 0 to 1. */
  readonly figure: number;
  readonly seconds: number;
}

/**
 * The state of a trial. `running` and `waiting` (for others to compare with) appear only in `onTrial`. In a result,
 * each trial has ended: `finished`, after a full run; `weak`, because others were better after as many epochs;
 * `time`, when the budget ran out; `failed`, with the reason in `error`.
 */
export type TrialStatus = 'running' | 'waiting' | 'finished' | 'weak' | 'time' | 'failed';

/** One combination of settings, and its results. */
export interface Trial {
  /** From 0, the trial with the defaults. */
  readonly number: number;
  /** The settings that it tries in place of the defaults; none for the first trial. */
  readonly settings: TrialSettings;
  readonly status: TrialStatus;
  /** Its runs, each longer than the one before. */
  readonly runs: readonly TrialRun[];
  /** The metric of its last run on dev, 0 to 1. Absent until a run has ended. */
  readonly figure?: number;
  /** The time of all its runs, including one that was stopped. */
  readonly seconds: number;
  /** Why it failed. */
  readonly error?: string;
}

/** The result of a search. */
export interface TuningSummary {
  /** The metric on dev: `accuracy`, `f1` or, for question answering, `mrr` (mean reciprocal rank). */
  readonly metric: 'accuracy' | 'f1' | 'mrr';
  /** The full run that made the model. If several are equally good, the earliest. */
  readonly best: { readonly trial: number; readonly epochs: number; readonly figure: number };
  /** All trials in their order; the first has the defaults. */
  readonly trials: readonly Trial[];
  /**
   * Why the search ended: the time limit was reached, the number of trials was reached, or all settings of the space
   * were tried.
   */
  readonly endedBy: 'time' | 'trials' | 'space';
  /** Seconds from the call to the best model. */
  readonly seconds: number;
}

/**
 * Searches for settings that train a better model than the defaults, by successive halving (Li et al. 2020) on one
 * split of the rows. All trials train the encoder in epochs, even with few rows. A full run with the defaults comes first,
 * so on dev the resulting model is never worse than one trained in epochs with the defaults. The model's `tuning`
 * describes every trial.
 *
 * Fails as `train` does, and with a TrainingError if `budgetSeconds` is too short for the defaults alone. If another
 * trial fails, its record has the reason and the search continues.
 */
export function tune<Row extends TrainingRow>(
  options: TuneOptions<Row>,
): ResultAsync<TunedModel<AnswerTo<Row, string>>, OrchardError>;
export function tune(options: TuneOptions): ResultAsync<TunedModel, OrchardError> {
  const given = withAbsolutePaths(options);
  const work = async () => (await import('./tune-model.js')).tuneModel(given);
  return callResult(work(), 'searching for settings');
}
