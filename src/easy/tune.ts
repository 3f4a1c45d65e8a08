import { ResultAsync } from 'neverthrow';
import { type OrchardError, toOrchardError } from '../errors.js';
import type { AnswerTo } from './answers.js';
import type { TunedModel } from './model.js';
import type { TrainingRow } from './rows/index.js';
import type { TuneOptions } from './tuning/tune-options.js';

/**
 * Searches for settings that train a better model than the defaults: by successive halving (Li et al. 2020) on one split
 * of the rows. The defaults are trained first and in full, so the model that comes back is never worse than theirs on dev.
 * `tuning` of it tells of every trial.
 *
 * Fails as `train` does, and with a TrainingError where `budgetSeconds` is too little for the defaults alone. A trial that
 * fails otherwise says so in its record, and the others go on.
 */
export function tune<Row extends TrainingRow>(
  options: TuneOptions<Row>,
): ResultAsync<TunedModel<AnswerTo<Row>>, OrchardError>;
export function tune(options: TuneOptions): ResultAsync<TunedModel, OrchardError> {
  const work = async () => (await import('./tuning/tune-model.js')).tuneModel(options);
  return ResultAsync.fromPromise(work(), (thrown) => toOrchardError(thrown, 'searching for settings'));
}
