import { resolve } from 'node:path';
import { AbortedError } from '../../contract/index.js';
import { defaultMemoryLimit } from '../../jobs/index.js';
import {
  findModel,
  moveInto,
  type RecordedPart,
  readModelReport,
  requireReplaceable,
  writeFolder,
} from '../../models/index.js';
import { TemporaryDirectory } from '../../system/index.js';
import { createTrainingHost } from '../../training/index.js';
import type { TrainedModel, TrainingSummary } from '../model.js';
import { MODEL_FOLDER, OpenModel } from '../open-model.js';
import type { TrainOptions } from '../train.js';
import type { FoundType } from './prepare-dataset.js';
import { nameOf, prepareDataset } from './prepare-dataset.js';
import { type TrainedFolder, trainInFolder } from './train-in-folder.js';
import { type TrainSettings, trainSettings } from './train-options.js';

/** Prepares the data, trains, and opens the model. @throws as `train` fails */
export async function trainModel(options: TrainOptions): Promise<TrainedModel> {
  const startedAt = performance.now();
  const settings = trainSettings(options);
  const { output, base, modelLoader, signal } = settings;
  if (signal?.aborted) throw new AbortedError('the training', { cause: signal.reason });
  if (output !== undefined) await requireReplaceable(output, MODEL_FOLDER, 'output');
  const placedBase = base === undefined ? undefined : await findModel(base, { modelLoader, backbones: true, signal });
  const { isolation, memoryLimit = defaultMemoryLimit() } = settings;
  const host = createTrainingHost(isolation, { first: { memoryLimit } });
  const work = new TemporaryDirectory();
  try {
    const { dataset, type } = await prepareDataset(settings, await work.path());
    const model = { name: nameOf(settings), type: type.type, family: type.family };
    const trained = await trainInFolder({ dataset, model, base: placedBase }, settings, host);
    return await openTrained(trained, type, (performance.now() - startedAt) / 1000, settings);
  } finally {
    await host.close();
    await work.remove();
  }
}

/**
 * Moves a trained model to `output`, opens it and, if `test` rows were given, evaluates it on them. Without `output`, the
 * model stays in its temporary folder until it is closed.
 * @param seconds how long it took, for the summary.
 */
export async function openTrained(
  { directory: trainedIn, remove, warnings }: TrainedFolder,
  { type, typeIs, reason }: FoundType,
  seconds: number,
  settings: TrainSettings,
): Promise<TrainedModel> {
  const { output, device, test, columns, signal } = settings;
  if (output !== undefined) {
    await writeFolder(output, MODEL_FOLDER, (made) => moveInto(trainedIn, made)).finally(remove);
  }
  const directory = output === undefined ? trainedIn : resolve(output);
  const { dataset, parts } = (await readModelReport(directory)).training;
  const { accuracy, f1, topk }: Partial<RecordedPart> = parts?.blend ?? {};
  const training: TrainingSummary = {
    ...{ type, typeIs, reason, warnings, seconds },
    train: dataset?.train_rows ?? 0,
    dev: dataset?.dev_rows ?? 0,
    ...(accuracy !== undefined && { accuracy }),
    ...(f1 !== undefined && { f1 }),
    ...(topk !== undefined && { topk }),
    ...(parts && { parts }),
  };
  const onClose = output === undefined ? remove : undefined;
  const placed = { name: nameOf(settings), directory };
  const model = await OpenModel.open(placed, { service: { device }, signal, ...(onClose && { onClose }) });
  if (test === undefined) return Object.assign(model, { training });
  const evaluation = await model.evaluate(test, { signal, ...(typeof test === 'string' && { columns }) });
  if (evaluation.isOk()) return Object.assign(model, { training: { ...training, test: evaluation.value } });
  await model.close();
  throw evaluation.error;
}
