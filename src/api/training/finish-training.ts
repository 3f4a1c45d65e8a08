import { resolve } from 'node:path';
import type { RowsOrPath } from '../../datasets/index.js';
import { moveInto, type RecordedPart, readModelReport, writeFolder } from '../../models/index.js';
import { MODEL_FOLDER } from '../open-model.js';
import type { OpenTrainedModel } from '../trained-model.js';
import type { FoundType } from './model-type.js';
import type { TrainedFolder } from './train-in-folder.js';
import type { TrainSettings } from './train-options.js';
import type { TrainingSummary } from './training-summary.js';

/** What happens to the folder of a trained model. */

/** Where a model is, and what removes it unless `output` was given. */
interface PlacedFolder {
  readonly directory: string;
  readonly onClose: () => Promise<void>;
}

/** Where the model is from now on: in the folder that was asked for, else where it was trained. */
export async function placed({ directory, remove }: TrainedFolder, output: string | undefined): Promise<PlacedFolder> {
  if (output === undefined) return { directory, onClose: remove };
  try {
    await writeFolder(output, MODEL_FOLDER, (made) => moveInto(directory, made));
  } finally {
    await remove();
  }
  return { directory: resolve(output), onClose: async () => {} };
}

/** How the model in a folder was trained. @param startedAt of `performance.now`, when the whole began */
export async function summaryOf(
  { warnings }: Pick<TrainedFolder, 'warnings'>,
  directory: string,
  { type, typeIs, reason }: FoundType,
  startedAt: number,
): Promise<TrainingSummary> {
  const { training } = await readModelReport(directory);
  return {
    type,
    typeIs,
    reason,
    train: training.dataset?.train_rows ?? 0,
    dev: training.dataset?.dev_rows ?? 0,
    ...figuresOf(training.parts?.blend),
    ...(training.parts && { parts: training.parts }),
    warnings,
    seconds: (performance.now() - startedAt) / 1000,
  };
}

function figuresOf({ accuracy, f1, topk }: Partial<RecordedPart> = {}) {
  return {
    ...(accuracy !== undefined && { accuracy }),
    ...(f1 !== undefined && { f1 }),
    ...(topk !== undefined && { topk }),
  };
}

/** Judges a model on its test rows; one that can't be is closed. @throws as `evaluate` fails */
export async function judged<Opened extends OpenTrainedModel>(
  model: Opened,
  test: RowsOrPath,
  { columns, signal }: TrainSettings,
): Promise<Opened> {
  const options = { signal, ...(typeof test === 'string' && { columns }) };
  const evaluation = await model.evaluate(test, options);
  if (evaluation.isOk()) return model.judgedBy(evaluation.value);
  await model.close();
  throw evaluation.error;
}
