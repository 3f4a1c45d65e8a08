import { resolve } from 'node:path';
import { AbortedError } from '../../contract/index.js';
import {
  type FoundModel,
  findModel,
  moveInto,
  type RecordedPart,
  readModelReport,
  requireReplaceable,
  writeFolder,
} from '../../models/index.js';
import { TemporaryDirectory } from '../../system/index.js';
import type { TrainedModel, TrainingSummary } from '../model.js';
import { MODEL_FOLDER, OpenModel } from '../open-model.js';
import type { FoundType } from './model-type.js';
import { nameOf, prepareDataset } from './prepare-dataset.js';
import { type TrainedFolder, trainInFolder } from './train-in-folder.js';
import { type TrainOptions, type TrainSettings, trainSettings } from './train-options.js';

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

/** Opens a model that was just trained; with `test` rows, it is judged on them. @throws as `evaluate` fails */
export async function openTrained(
  placed: FoundModel,
  summary: TrainingSummary,
  onClose: () => Promise<void>,
  { device, test, columns, signal }: TrainSettings,
): Promise<TrainedModel> {
  const model = await OpenModel.open(placed, { service: { device }, onClose, signal });
  if (test === undefined) return Object.assign(model, { training: summary });
  const options = { signal, ...(typeof test === 'string' && { columns }) };
  const evaluation = await model.evaluate(test, options);
  if (evaluation.isOk()) return Object.assign(model, { training: { ...summary, test: evaluation.value } });
  await model.close();
  throw evaluation.error;
}

/** Prepares the data, runs the job, and opens the model. @throws as `train` fails */
export async function trainModel(options: TrainOptions): Promise<TrainedModel> {
  const startedAt = performance.now();
  const settings = trainSettings(options);
  const { output, base, modelLoader, signal } = settings;
  if (signal?.aborted) throw new AbortedError('the training', { cause: signal.reason });
  if (output !== undefined) await requireReplaceable(output, MODEL_FOLDER, 'output');
  const placedBase = base === undefined ? undefined : await findModel(base, { modelLoader, backbones: true, signal });
  const work = new TemporaryDirectory();
  try {
    const { dataset, type } = await prepareDataset(settings, await work.path());
    const name = nameOf(settings);
    const model = { name, type: type.type, family: type.family };
    const trained = await trainInFolder({ dataset, model, base: placedBase }, settings);
    const { directory, onClose } = await placed(trained, output);
    const summary = await summaryOf(trained, directory, type, startedAt);
    return await openTrained({ name, directory }, summary, onClose, settings);
  } finally {
    await work.remove();
  }
}
