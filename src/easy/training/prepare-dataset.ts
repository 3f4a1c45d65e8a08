/** What a training reads, made of whatever it was given to train on. */
import { stat } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { fetchDataset, fileKind, unzip, ZIP } from '../../datasets/index.js';
import { DatasetError } from '../../errors.js';
import { type CheckedRowSets, families, type RowSets } from '../../families/index.js';
import type { DatasetSource } from '../../training/index.js';
import { MULTILABEL } from '../multilabel.js';
import { type CheckedRows, fieldsOf, invalid, isRowFile, type RowsOrPath, readRows } from '../rows/index.js';
import { typeOfArchive } from './archive-type.js';
import { type FoundType, found, shapesFor, typeOfRows } from './model-type.js';
import type { TrainSettings } from './train-options.js';

/** A dataset to train on. */
export interface PreparedDataset {
  readonly dataset: DatasetSource;
  readonly type: FoundType;
}

/** How a dataset is used. */
export interface DatasetUse {
  /** Whether several trainings read it, so that it is to be read and checked once. Default false. */
  readonly isReadOften?: boolean;
}

/**
 * Reads and checks rows; an archive is left to the training, unless several read it.
 * @param work a folder for what is unpacked. @throws ValidationError, DatasetError, DownloadError, AbortedError
 */
export async function prepareDataset(
  settings: TrainSettings,
  work: string,
  { isReadOften = false }: DatasetUse = {},
): Promise<PreparedDataset> {
  const { source, type: given, signal } = settings;
  if (source.kind === 'rows') return datasetOfRows(source.rows, settings);
  const directory = join(work, 'archive');
  if (source.kind === 'url') {
    const { url } = source;
    refuseRowOptions(settings);
    if (given !== undefined && !isReadOften) {
      return { dataset: { url }, type: found(given, 'given', 'as asked for') };
    }
    const fetched = await fetchDataset(url, { directory: work, signal });
    await unzip(fetched.path, directory, { name: fetched.name, signal });
    return archiveIn(directory, settings, isReadOften);
  }
  const { path } = source;
  const entry = await stat(path).catch(() => undefined);
  if (entry === undefined) throw missingFile(path);
  if (entry.isFile() && fileKind(path) !== ZIP) return datasetOfRows(path, settings);
  refuseRowOptions(settings);
  if (!entry.isFile()) return archiveIn(path, settings, isReadOften);
  await unzip(path, directory, { signal });
  return archiveIn(directory, settings, isReadOften);
}

function missingFile(path: string): DatasetError {
  const expected = 'a file of examples, or an archive: a zip or its unpacked folder';
  return new DatasetError([{ file: path, found: 'found no such file or folder', expected }]);
}

async function datasetOfRows(rows: RowsOrPath, settings: TrainSettings): Promise<PreparedDataset> {
  const { columns, signal, devFraction, seed, passages, dev: given } = settings;
  const columnsOf = (source: RowsOrPath) => (typeof source === 'string' ? columns : undefined);
  const isMultilabel = settings.type === undefined ? undefined : settings.type === MULTILABEL;
  const option = typeof rows === 'string' ? 'path' : 'rows';
  const train = await readRows(rows, { option, columns: columnsOf(rows), isMultilabel, signal });
  const type = typeOfRows(train, settings.type);
  if (passages !== undefined && type.type !== 'question-answering') {
    throw invalid(['passages'], `passages are for question-answering, not for ${type.type}`);
  }
  const reading = { option: 'dev', isMultilabel: type.type === MULTILABEL, signal };
  const dev =
    given === undefined ? undefined : await readRows(given, { ...reading, columns: columnsOf(given) });
  if (dev) requireFitting(dev.checked, type);
  const { dataset, leftOut } = await checkedRows({ train, dev, devFraction, seed, passages }, type, signal);
  return { dataset: { rows: { ...dataset, warnings: [...leftOut, ...dataset.warnings] } }, type };
}

/** @throws ValidationError for dev rows of another kind than the rows to train on */
function requireFitting({ shape }: CheckedRows, { type }: FoundType): void {
  const fitting = shapesFor(type);
  if (fitting.includes(shape)) return;
  const wanted = fitting.map(fieldsOf).join(', or ');
  const msg = `its rows have ${fieldsOf(shape)}, but the rows to train on have ${wanted}; give both the same fields`;
  throw invalid(['dev'], msg);
}

/** Checks rows as the family of a type does. @throws DatasetError with every problem, AbortedError */
export async function checkedRows(
  sets: RowSets,
  { type, family }: FoundType,
  signal: AbortSignal | undefined,
): Promise<CheckedRowSets> {
  const rows = await families[family].rows();
  if (rows === undefined) throw invalid(['type'], `${type} can't be trained on rows`);
  return rows.check(sets, type, signal);
}

async function archiveIn(
  folder: string,
  { type: given, signal }: TrainSettings,
  isReadOften: boolean,
): Promise<PreparedDataset> {
  const type = given === undefined ? await typeOfArchive(folder) : found(given, 'given', 'as asked for');
  const rows = isReadOften ? await families[type.family].rows() : undefined;
  return { dataset: rows ? { rows: await rows.read(folder, type.type, signal) } : { folder }, type };
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
