import { stat } from 'node:fs/promises';
import { basename, extname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ResultAsync } from 'neverthrow';
import { fetchDataset, fileKind, unzip, ZIP } from '../datasets/index.js';
import { AbortedError, DatasetError, type OrchardError, toOrchardError } from '../errors.js';
import { TemporaryDirectory } from '../files/index.js';
import { readModelReport } from '../model-folder/index.js';
import type { AnswerTo } from './answers.js';
import { placeOf } from './base-model.js';
import type { TrainedModel } from './model.js';
import { copyInto, requireReplaceable, writeFolder } from './model-output.js';
import { MODEL_FOLDER } from './open-model.js';
import { invalid, isRowFile, type RowsOrPath, readRows, type TrainingRow } from './rows/index.js';
import { OpenTrainedModel } from './trained-model.js';
import { typeOfArchive } from './training/archive-type.js';
import { makeDataset } from './training/make-dataset.js';
import { type FoundType, found, typeOfRows } from './training/model-type.js';
import { runJob, type TrainedFolder } from './training/run-job.js';
import { type TrainOptions, type TrainSettings, trainSettings } from './training/train-options.js';
import type { TrainingSummary } from './training/training-summary.js';

/**
 * Trains a model on examples in memory, in a file, or in a dataset archive, and gives it open. The same jobs train it as
 * the documented Trainer's, in a worker thread, from the backbone of its language and size unless `base` names a model.
 *
 * Fails with a ValidationError or DatasetError that names each option, row or line that is wrong, or a type that the data
 * doesn't settle; a DownloadError; a NotFoundError or ModelFolderError for `base`; a TrainingError, MemoryLimitError or
 * StorageError; an AbortedError when the signal fires. Nothing is written then.
 */
export function train<Row extends TrainingRow>(
  options: TrainOptions<Row>,
): ResultAsync<TrainedModel<AnswerTo<Row>>, OrchardError>;
export function train(options: TrainOptions): ResultAsync<TrainedModel, OrchardError> {
  return ResultAsync.fromPromise(trainWith(options), (thrown) => toOrchardError(thrown, 'training a model'));
}

async function trainWith(options: TrainOptions): Promise<TrainedModel> {
  const startedAt = performance.now();
  const settings = trainSettings(options);
  const { output, base, modelLoader, signal, device } = settings;
  if (signal?.aborted) throw new AbortedError('the training', { cause: signal.reason });
  if (output !== undefined) await requireReplaceable(output, MODEL_FOLDER, 'output');
  const placedBase =
    base === undefined ? undefined : await placeOf(base, { modelLoader, backbones: true, signal });
  const work = new TemporaryDirectory();
  try {
    const { dataset_url, type } = await prepareDataset(settings, await work.path());
    const name = settings.name ?? nameOf(settings);
    const model = { name, type: type.type, family: type.family };
    const trained = await runJob({ dataset_url, model, base: placedBase }, settings);
    const { directory, onClose } = await placed(trained, output);
    const summary = await summaryOf(trained, directory, type, startedAt);
    const opened = await OpenTrainedModel.openTrained({ name, directory }, summary, {
      service: { device },
      onClose,
      signal,
    });
    return settings.test === undefined ? opened : await judged(opened, settings.test, settings);
  } finally {
    await work.remove();
  }
}

interface PreparedDataset {
  readonly dataset_url: string;
  readonly type: FoundType;
}

/** What the job reads: an archive as it was given, or one made of rows. */
async function prepareDataset(settings: TrainSettings, work: string): Promise<PreparedDataset> {
  const { source } = settings;
  if (source.kind === 'rows') return datasetOfRows(source.rows, settings, work);
  if (source.kind === 'url') return datasetOfUrl(source.url, settings, work);
  const { path } = source;
  const entry = await stat(path).catch(() => undefined);
  if (entry === undefined) throw missingFile(path);
  if (entry.isFile() && fileKind(path) !== ZIP) return datasetOfRows(path, settings, work);
  refuseRowOptions(settings);
  const directory = entry.isFile() ? join(work, 'archive') : path;
  if (entry.isFile()) await unzip(path, directory, { signal: settings.signal });
  return { dataset_url: pathToFileURL(directory).href, type: await archiveType(directory, settings) };
}

function missingFile(path: string): DatasetError {
  const expected = 'a file of examples, or an archive: a zip or its unpacked folder';
  return new DatasetError([{ file: path, found: 'found no such file or folder', expected }]);
}

async function datasetOfRows(
  rows: RowsOrPath,
  settings: TrainSettings,
  work: string,
): Promise<PreparedDataset> {
  const { columns, signal, devFraction, seed, passages } = settings;
  const isMultilabel = settings.type === undefined ? undefined : settings.type === MULTILABEL;
  const columnsOf = (source: RowsOrPath) => (typeof source === 'string' ? columns : undefined);
  const option = typeof rows === 'string' ? 'path' : 'rows';
  const train = await readRows(rows, { option, columns: columnsOf(rows), isMultilabel, signal });
  const type = typeOfRows(train, settings.type);
  if (passages !== undefined && type.type !== 'question-answering') {
    throw invalid(['passages'], `passages are for question-answering, not for ${type.type}`);
  }
  const { dev: given } = settings;
  const dev =
    given === undefined
      ? undefined
      : await readRows(given, {
          ...{ option: 'dev', columns: columnsOf(given), signal },
          isMultilabel: type.type === MULTILABEL,
        });
  const path = join(work, 'dataset.zip');
  const parts = {
    type: type.type,
    name: settings.name ?? nameOf(settings),
    train,
    dev,
    devFraction,
    seed,
    passages,
  };
  const made = await makeDataset(parts, path);
  if (made.isErr()) throw made.error;
  return { dataset_url: pathToFileURL(path).href, type };
}

const MULTILABEL = 'multilabel-text-classification';

/** Of an archive whose type is given, the job downloads the zip; else it is looked at first. */
async function datasetOfUrl(url: string, settings: TrainSettings, work: string): Promise<PreparedDataset> {
  refuseRowOptions(settings);
  const { type, signal } = settings;
  if (type !== undefined) return { dataset_url: url, type: found(type, 'given', 'as asked for') };
  const dataset = await fetchDataset(url, { directory: work, signal });
  const directory = join(work, 'archive');
  await unzip(dataset.path, directory, { name: dataset.name, signal });
  return { dataset_url: pathToFileURL(directory).href, type: await archiveType(directory, settings) };
}

async function archiveType(directory: string, { type }: TrainSettings): Promise<FoundType> {
  return type === undefined ? typeOfArchive(directory) : found(type, 'given', 'as asked for');
}

/** @throws ValidationError for an option that only rows have a use for. */
function refuseRowOptions({ dev, devFraction, columns, passages }: TrainSettings): void {
  for (const [name, value] of Object.entries({ dev, devFraction, columns, passages })) {
    if (value === undefined) continue;
    throw invalid([name], `an archive brings its own; leave ${name} out, or give rows or a file of rows`);
  }
}

const MAX_NAME = 24;

/** A model's name by its file: `Reviews 2026.csv` becomes `reviews-2026`. */
function nameOf({ source }: TrainSettings): string {
  if (source.kind === 'rows') return 'model';
  const path = source.kind === 'path' ? source.path : urlPath(source.url);
  const stem = isRowFile(path) || extname(path) === '.zip' ? basename(path, extname(path)) : basename(path);
  const name = stem
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_NAME)
    .replace(/^-+|-+$/g, '');
  return name === '' ? 'model' : name;
}

function urlPath(url: string): string {
  return URL.canParse(url) ? new URL(url).pathname : '';
}

interface PlacedFolder {
  readonly directory: string;
  readonly onClose: () => Promise<void>;
}

/** Where the model is from now on: in the folder that was asked for, else where it was trained. */
async function placed(
  { directory, remove }: TrainedFolder,
  output: string | undefined,
): Promise<PlacedFolder> {
  if (output === undefined) return { directory, onClose: remove };
  try {
    await writeFolder(output, MODEL_FOLDER, (made) => copyInto(directory, made));
  } finally {
    await remove();
  }
  return { directory: resolve(output), onClose: async () => {} };
}

async function summaryOf(
  { job }: TrainedFolder,
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
    ...job.blend,
    ...(training.parts && { parts: training.parts }),
    warnings: job.warnings,
    seconds: (performance.now() - startedAt) / 1000,
  };
}

async function judged(
  model: OpenTrainedModel,
  test: RowsOrPath,
  { columns, signal }: TrainSettings,
): Promise<OpenTrainedModel> {
  const options = { signal, ...(typeof test === 'string' && { columns }) };
  const evaluation = await model.evaluate(test, options);
  if (evaluation.isOk()) return model.judgedBy(evaluation.value);
  await model.close();
  throw evaluation.error;
}
