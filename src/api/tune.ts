import type { ResultAsync } from 'neverthrow';
import { callResult, type OrchardError } from '../contract/index.js';
import type { TrainingRow } from '../datasets/index.js';
import type { AnswerTo } from './answers.js';
import type { TunedModel } from './model.js';
import { withAbsolutePaths } from './paths.js';
import type { SearchSpace, TrialSettings } from './search-space.js';
import type { TrainOptions } from './train.js';

/**
 * What to train on, and what to search. The training options apply to every trial; `onProgress` is called for each of
 * them, and `seed` also decides the trials.
 */
export interface TuneOptions<Row extends TrainingRow = TrainingRow> extends Omit<TrainOptions<Row>, 'effort'> {
  /**
   * Seconds for reading the data and searching. No trial starts that is expected to take longer; one that does is stopped.
   * Opening the best model and evaluating it on `test` take extra time. Default: no limit.
   */
  readonly budgetSeconds?: number | undefined;
  /** Maximum number of trials, including the one with the defaults, 1 to 1,000. Default 20, or 1,000 with `budgetSeconds`. */
  readonly trials?: number | undefined;
  /** What to try. Default: learning rate, batch size and others, around their defaults (docs/tuning.md). */
  readonly space?: SearchSpace | undefined;
  /** Called when a run of a trial starts and when it ends. If it throws, the search ends. */
  readonly onTrial?: ((trial: Trial) => void) | undefined;
}

/** One training of a trial. */
export interface TrialRun {
  /** Maximum number of epochs; the learning rate falls to 0 within them. */
  readonly epochs: number;
  /** The metric on dev, 0 to 1. */
  readonly figure: number;
  readonly seconds: number;
}

/**
 * The state of a trial. `running` and `waiting` (for others to compare with) appear only in `onTrial`. In a result, each
 * trial has ended: `finished`, after a full training; `weak`, since others were better after as many epochs; `time`, when
 * the budget ran out; `failed`, with the reason in `error`.
 */
export type TrialStatus = 'running' | 'waiting' | 'finished' | 'weak' | 'time' | 'failed';

/** One combination of settings, and its results. */
export interface Trial {
  /** From 0, the trial with the defaults. */
  readonly number: number;
  /** The settings that differ from the defaults and options. */
  readonly settings: TrialSettings;
  readonly status: TrialStatus;
  /** Its trainings, each longer than the one before. */
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
  /** The full training that made the model. If several are equally good, the earliest. */
  readonly best: { readonly trial: number; readonly epochs: number; readonly figure: number };
  /** All trials in their order; the first has the defaults. */
  readonly trials: readonly Trial[];
  /** Why the search ended: the time was up, all trials were made, or the space has no other settings. */
  readonly endedBy: 'time' | 'trials' | 'space';
  /** From the call to the best model. */
  readonly seconds: number;
}

/**
 * Searches for settings that train a better model than the defaults, by successive halving (Li et al. 2020) on one split
 * of the rows. A full training with the defaults comes first, so the resulting model is never worse than theirs on dev.
 * The model's `tuning` describes every trial.
 *
 * Fails as `train` does, and with a TrainingError if `budgetSeconds` is too short for the defaults alone. If another trial
 * fails, its record has the reason and the search goes on.
 */
export function tune<Row extends TrainingRow>(
  options: TuneOptions<Row>,
): ResultAsync<TunedModel<AnswerTo<Row, string>>, OrchardError>;
export function tune(options: TuneOptions): ResultAsync<TunedModel, OrchardError> {
  const given = withAbsolutePaths(options);
  const work = async () => (await import('./tune-model.js')).tuneModel(given);
  return callResult(work(), 'searching for settings');
}
