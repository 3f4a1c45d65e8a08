/** What a job reads, made of whatever it was given to train on. */
import { stat } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { fetchDataset, fileKind, unzip, ZIP } from '../../datasets/index.js';
import { DatasetError } from '../../errors.js';
import { MULTILABEL } from '../multilabel.js';
import { invalid, isRowFile, type RowsOrPath, readRows } from '../rows/index.js';
import { typeOfArchive } from './archive-type.js';
import { makeDataset } from './make-dataset.js';
import { type FoundType, found, typeOfRows } from './model-type.js';
import type { TrainSettings } from './train-options.js';

/** A dataset that a job can be given. */
export interface PreparedDataset {
  readonly dataset_url: string;
  readonly type: FoundType;
}

/** What is made of a dataset. */
export interface DatasetUse {
  /** Whether several jobs read it, so that it is to be downloaded once. Default false. */
  readonly isReadOften?: boolean;
}

/**
 * What the job reads: an archive as it was given, or one made of rows.
 * @param work a folder for what is made. @throws ValidationError, DatasetError, DownloadError, AbortedError
 */
export async function prepareDataset(
  settings: TrainSettings,
  work: string,
  { isReadOften = false }: DatasetUse = {},
): Promise<PreparedDataset> {
  const { source } = settings;
  if (source.kind === 'rows') return datasetOfRows(source.rows, settings, work);
  if (source.kind === 'url') return datasetOfUrl(source.url, settings, work, isReadOften);
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
    name: nameOf(settings),
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

/** Of an archive whose type is given, the job downloads the zip; else it is looked at first. */
async function datasetOfUrl(
  url: string,
  settings: TrainSettings,
  work: string,
  isReadOften: boolean,
): Promise<PreparedDataset> {
  refuseRowOptions(settings);
  const { type, signal } = settings;
  if (type !== undefined && !isReadOften) {
    return { dataset_url: url, type: found(type, 'given', 'as asked for') };
  }
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

/** A model's name: as asked for, else by its file: `Reviews 2026.csv` becomes `reviews-2026`. */
export function nameOf({ name: given, source }: TrainSettings): string {
  if (given !== undefined) return given;
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
