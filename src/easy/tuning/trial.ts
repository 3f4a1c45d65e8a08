/** What a search has tried. */
import type { TrialSettings } from './space.js';

/** One training of a trial. */
export interface TrialRun {
  /** Most epochs of it, with a learning rate that falls to 0 within them. */
  readonly epochs: number;
  /** What the model reaches on dev, 0 to 1. */
  readonly figure: number;
  readonly seconds: number;
}

/**
 * What became of a trial. `running` and `waiting` (for others to compare with) are for listeners; in a result, each has
 * ended: `finished`, trained in full; `weak`, others were better after as many epochs; `time`, the budget ended it;
 * `failed`, and `error` says why.
 */
export type TrialStatus = 'running' | 'waiting' | 'finished' | 'weak' | 'time' | 'failed';

/** One combination of settings, and how it did. */
export interface Trial {
  /** From 0, which is the trial with the defaults. */
  readonly number: number;
  /** What differs from the defaults and options. */
  readonly settings: TrialSettings;
  readonly status: TrialStatus;
  /** Its trainings, each longer than the one before. */
  readonly runs: readonly TrialRun[];
  /** What its last training reaches on dev, 0 to 1; absent until one has ended. */
  readonly figure?: number;
  /** Of all its runs, the one that was stopped too. */
  readonly seconds: number;
  /** Why it failed. */
  readonly error?: string;
}

/** What a search came to. */
export interface TuningSummary {
  /** What was compared on dev: `accuracy`, `f1` or, of question answering, `mrr` (mean reciprocal rank). */
  readonly metric: 'accuracy' | 'f1' | 'mrr';
  /** The training in full that the model is of. With equal figures, the earlier one wins. */
  readonly best: { readonly trial: number; readonly epochs: number; readonly figure: number };
  /** All trials, in their order; the first has the defaults. */
  readonly trials: readonly Trial[];
  /** Why no other trial was begun: there was no time left, all trials were made, or the space has no others. */
  readonly endedBy: 'time' | 'trials' | 'space';
  /** From the call to the best model. */
  readonly seconds: number;
}
