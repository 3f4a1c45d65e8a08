import { ResultAsync } from 'neverthrow';
import { type OrchardError, toOrchardError } from '../contract/index.js';
import type { TrainingRow } from '../datasets/index.js';
import type { AnswerTo } from './answers.js';
import type { TrainedModel } from './model.js';
import type { TrainOptions } from './training/train-options.js';

/**
 * Trains a model on examples in memory, in a file, or in a dataset archive, and gives it open. The same jobs train it as
 * the documented Trainer's, in a worker thread, from the backbone of its language and size unless `base` names a model.
 *
 * Fails with a ValidationError or DatasetError that names each option, row or line that is wrong, or a type that the data
 * doesn't settle; a DownloadError; a NotFoundError or ModelFolderError for `base`; a TrainingError, MemoryLimitError or
 * StorageError; an AbortedError when the signal fires. `output` is written once the training has succeeded, and whole.
 */
export function train<Row extends TrainingRow>(
  options: TrainOptions<Row>,
): ResultAsync<TrainedModel<AnswerTo<Row>>, OrchardError>;
export function train(options: TrainOptions): ResultAsync<TrainedModel, OrchardError> {
  // Readers of files and all that trains are loaded where they are needed.
  const work = async () => (await import('./training/train-model.js')).trainModel(options);
  return ResultAsync.fromPromise(work(), (thrown) => toOrchardError(thrown, 'training a model'));
}
