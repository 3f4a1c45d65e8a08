import { ResultAsync } from 'neverthrow';
import { type OrchardError, toOrchardError } from '../errors.js';
import type { AnswerTo } from './answers.js';
import type { CrossValidateOptions } from './cross-validation/cross-validate-options.js';
import type { CrossValidation } from './cross-validation/cross-validation.js';
import type { TrainingRow } from './rows/index.js';

/**
 * How good a model of these rows would be, judged by all of them: the rows are divided into folds, and for each one a model is
 * trained on the others and asked about it. Folds are stratified by label, or by type of entity; rows with equal texts, and
 * those of one of `groups`, stay together.
 *
 * Fails as `train` does, with a ValidationError where the rows can't be divided so, and ends with the first training that fails.
 */
export function crossValidate<Row extends TrainingRow>(
  options: CrossValidateOptions<Row>,
): ResultAsync<CrossValidation<AnswerTo<Row>>, OrchardError>;
export function crossValidate(options: CrossValidateOptions): ResultAsync<CrossValidation, OrchardError> {
  const work = async () =>
    (await import('./cross-validation/cross-validate-model.js')).crossValidateRows(options);
  return ResultAsync.fromPromise(work(), (thrown) => toOrchardError(thrown, 'cross-validating'));
}
