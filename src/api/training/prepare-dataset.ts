import { readdir, stat } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import * as z from 'zod';
import { DatasetError, type FamilyName, familyNameOf, type ModelType } from '../../contract/index.js';
import {
  type ArchiveFolder,
  archiveFile,
  arePairs,
  type CheckedRows,
  CONFIG_FILE,
  counted,
  fetchDataset,
  fieldsOf,
  fileKind,
  findDataFile,
  invalid,
  isBratFolder,
  isRowFile,
  LABEL_FILE,
  MAX_LABELS,
  openArchive,
  ProblemList,
  quoted,
  type ReadingOptions,
  type ReadSource,
  type RowShape,
  type RowsOrPath,
  type RowTable,
  readArchiveConfig,
  readJsonFile,
  readLabelIds,
  readLines,
  readRows,
  rowShapes,
  rowsOf,
  type SoftLabelRow,
  someOf,
  splitFilesSchema,
  type TrainingRow,
  unzip,
  ZIP,
} from '../../datasets/index.js';
import {
  type CheckedRowSets,
  families,
  inRowsThread,
  isSmallFile,
  packRows,
  type RowSets,
  SUM_TOLERANCE,
  unpackedRows,
  withFewRows,
  writeDataset,
} from '../../families/index.js';
import { defaultMemoryLimit } from '../../jobs/index.js';
import { beginsAtHome, HOME_HINT } from '../../system/index.js';
import type { DatasetSource } from '../../training/index.js';
import { type LabelNames, labelNames, type TrainSettings } from './train-options.js';

/** Which type of model some rows or an archive (docs/archives.md) are for, and what training reads of them. */

export interface FoundType {
  readonly type: ModelType;
  readonly family: FamilyName;
  readonly typeIs: 'given' | 'inferred';
  readonly reason: string;
}

/** The types that each shape of row can be for, the first being the one for it where nothing else is said. */
const fitting: Readonly<Record<RowTable['checked']['shape'], readonly ModelType[]>> = {
  label: ['binary-text-classification', 'multiclass-text-classification', 'multilabel-text-classification'],
  labels: ['multilabel-text-classification'],
  soft: ['binary-text-classification', 'multiclass-text-classification', 'multilabel-text-classification'],
  tags: ['named-entity-recognition', 'sequence-labeling'],
  entities: ['named-entity-recognition', 'sequence-labeling'],
  passage: ['question-answering'],
  passages: ['question-answering'],
};

function shapesFor(type: ModelType): readonly RowShape[] {
  return rowShapes.filter((shape) => fitting[shape].includes(type));
}

/** @throws ValidationError for a type that the rows don't fit, or where they don't settle it. */
export function typeOfRows(table: RowTable, given: ModelType | undefined): FoundType {
  const { shape } = table.checked;
  if (given === undefined) return inferred(table);
  if (!fitting[shape].includes(given)) {
    const types = new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(fitting[shape]);
    throw invalid(
      ['type'],
      `${rowsOf(table.origin)} have the fields ${fieldsOf(shape)}, which do not fit ${given}; give ${types}, or rows with other fields`,
    );
  }
  return found(given, 'given', 'as asked for');
}

function found(type: ModelType, typeIs: FoundType['typeIs'], reason: string): FoundType {
  return { type, family: familyNameOf[type], typeIs, reason };
}

function inferred({ checked, origin, readAs }: RowTable): FoundType {
  switch (checked.shape) {
    case 'label':
      return typeOfLabels(
        checked.rows.map(({ label }) => label),
        origin,
        readAs !== undefined,
      );
    case 'labels':
      return found('multilabel-text-classification', 'inferred', 'rows have any number of labels');
    case 'soft':
      return typeOfShares(checked.rows, origin);
    case 'tags':
      return found('named-entity-recognition', 'inferred', 'rows have words and a tag for each');
    case 'entities':
      return found('named-entity-recognition', 'inferred', 'rows have texts and the places of entities');
    default:
      return found('question-answering', 'inferred', 'rows have questions and passages that answer them');
  }
}

/** @throws ValidationError where it can't be told whether a comma separates labels, or there is but one label. */
function typeOfLabels(labels: readonly string[], origin: string, areOfFile: boolean): FoundType {
  const distinct = new Set(labels);
  const joined = [...distinct].find((label) => isListOf(label, distinct));
  if (joined !== undefined) {
    const parts = joined.split(',').map((part) => quoted(part.trim()));
    // Only the cells of files are split.
    const advice = areOfFile
      ? "pass `type: 'multilabel-text-classification'` if a comma separates labels, else"
      : `if it is several, give each row a list, such as \`labels: [${parts.join(', ')}]\`, else pass`;
    const what = `${rowsOf(origin)} have the label ${quoted(joined)}, which may be one label or several`;
    throw invalid(['type'], `${what}; ${advice} \`type: 'multiclass-text-classification'\``);
  }
  const reason = `each row has one of ${counted(distinct.size, 'label')}`;
  if (distinct.size > 2) return found('multiclass-text-classification', 'inferred', reason);
  if (distinct.size === 2) return found('binary-text-classification', 'inferred', reason);
  const only = quoted([...distinct][0] ?? '');
  throw invalid(['rows'], `all ${rowsOf(origin)} have the label ${only}; a classifier needs at least two labels`);
}

/** @throws ValidationError where probabilities may be those of one label or of several, or there is but one label. */
function typeOfShares(rows: readonly SoftLabelRow[], origin: string): FoundType {
  const labels = new Set(rows.flatMap((row) => Object.keys(row.labels)));
  const sums = rows.map((row) => Object.values(row.labels).reduce((sum, share) => sum + share, 0));
  const at = sums.findIndex((sum) => Math.abs(sum - 1) > SUM_TOLERANCE);
  if (at >= 0) {
    const sum = Number((sums[at] ?? 0).toFixed(4));
    throw invalid(
      ['type'],
      `the probabilities of row ${at + 1} of ${origin} add up to ${sum}; pass \`type: 'multilabel-text-classification'\` if the labels are independent of each other; otherwise, give probabilities that add up to 1`,
    );
  }
  const reason = `${counted(labels.size, 'label')} whose probabilities add up to 1 in each row`;
  if (labels.size > 2) return found('multiclass-text-classification', 'inferred', reason);
  if (labels.size === 2) return found('binary-text-classification', 'inferred', reason);
  throw invalid(['rows'], `all ${rowsOf(origin)} have the same label; a classifier needs at least two labels`);
}

function isListOf(label: string, known: ReadonlySet<string>): boolean {
  const parts = label.split(',').map((part) => part.trim());
  return parts.length > 1 && parts.some((part) => known.has(part));
}

const configSchema = splitFilesSchema.partial().extend({
  field_names: z.array(z.string()).optional(),
  NUM_CLASS_LABELS: z.number().optional(),
  DATASET_NAME: z.string().default(''),
  DATA_DIR: z.string().default(''),
});
type Config = z.infer<typeof configSchema>;

const SENTENCES = /(^|\/)sentences\.txt$/;

/**
 * The type of an unpacked archive: by the files that it names, NUM_CLASS_LABELS, and whether rows have several labels.
 * @throws DatasetError for a folder that is no archive, ValidationError where nothing in it settles the type.
 */
export async function typeOfArchive(directory: string): Promise<FoundType> {
  const archive = openArchive(directory, [CONFIG_FILE, LABEL_FILE]);
  if (archive.files.some((name) => SENTENCES.test(name))) {
    return found('named-entity-recognition', 'inferred', 'the archive has sentences and tags');
  }
  const problems = new ProblemList();
  const config = await readArchiveConfig(archive, configSchema, problems);
  if (config === undefined) throw problems.toError();
  if (config.field_names !== undefined || config.NUM_CLASS_LABELS !== undefined) {
    return typeOfTable(archive, config, problems);
  }
  if (config.TRAIN_FILE?.endsWith('.json') === true) {
    return found('question-answering', 'inferred', 'the archive has questions and passages');
  }
  throw invalid(['type'], `${CONFIG_FILE} of the archive doesn't name the task; pass \`type\``);
}

async function typeOfTable(archive: ArchiveFolder, config: Config, problems: ProblemList): Promise<FoundType> {
  if (config.NUM_CLASS_LABELS === 1) {
    const labels = await labelCount(archive, problems);
    if (labels === 2) return found('binary-text-classification', 'inferred', 'NUM_CLASS_LABELS is 1');
    const reason = `NUM_CLASS_LABELS is 1, and the archive has ${counted(labels, 'label')}`;
    return found('multilabel-text-classification', 'inferred', reason);
  }
  const cells = await labelCells(archive, config, problems);
  const isMany = cells.some((cell) => cell.trim() === '' || cell.includes(','));
  return isMany
    ? found('multilabel-text-classification', 'inferred', 'rows of the archive have any number of labels')
    : found('multiclass-text-classification', 'inferred', 'each row of the archive has one label');
}

async function labelCount(archive: ArchiveFolder, problems: ProblemList): Promise<number> {
  const file = archiveFile(archive, LABEL_FILE);
  const json = file && (await readJsonFile(file.path, file.name, problems));
  return json?.members?.length ?? 0;
}

/** As {@link requirePositive}. Labels that can't be read are left to the training, which reports all problems of an archive. */
async function requirePositiveIn(
  folder: string,
  type: ModelType,
  positive: string,
  signal?: AbortSignal,
): Promise<void> {
  const isClassifier = familyNameOf[type] === 'Papaya';
  const archive = openArchive(folder, [LABEL_FILE]);
  const labels = isClassifier ? await readLabelIds(archive, new ProblemList(), { most: MAX_LABELS }, signal) : [];
  if (labels) requirePositive(positive, type, labels);
}

/** @throws ValidationError unless it is a label of a model that chooses between two. @param labels of the model, if it is a classifier */
export function requirePositive(positive: string | undefined, type: ModelType, labels: readonly string[]): void {
  if (positive === undefined) return;
  const chooses = type === 'binary-text-classification' || type === 'multiclass-text-classification';
  if (!chooses || labels.length !== 2) {
    const many = chooses ? ` with ${counted(labels.length, 'label')}` : '';
    const instead = familyNameOf[type] === 'Dragonfruit' ? '' : '; for the F1 of each label, see classes in the result';
    const msg = `applies only to classifiers with exactly two labels, not to ${type}${many}`;
    throw invalid(['positive'], `${msg}; leave \`positive\` out${instead}`);
  }
  if (labels.includes(positive)) return;
  throw invalid(['positive'], `${quoted(positive)} is not a label; the labels are ${someOf(labels.map(quoted))}`);
}

/** The cells of the label column, or of the last one where its name isn't `label`. */
async function labelCells(archive: ArchiveFolder, config: Config, problems: ProblemList): Promise<readonly string[]> {
  const { TRAIN_FILE = '', DATASET_NAME, DATA_DIR } = config;
  const file = findDataFile(archive, { desc: '', DATASET_NAME, DATA_DIR }, TRAIN_FILE);
  const [header, ...lines] = (file && (await readLines(file.path, file.name, problems))) ?? [];
  if (header === undefined) throw invalid(['type'], 'the archive has no rows that show its type; pass `type`');
  const columns = header.text.split('\t');
  const at = columns.includes('label') ? columns.indexOf('label') : columns.length - 1;
  return lines.map(({ text }) => text.split('\t')[at] ?? '');
}

export interface PreparedDataset {
  readonly dataset: DatasetSource;
  readonly type: FoundType;
  /** The rows as they were given, of rows and files. */
  readonly rows?: Iterable<TrainingRow>;
  /** What a file was read as, in words. */
  readonly readAs?: string | undefined;
  /** Of rows and files: what was read. */
  readonly read?: readonly ReadSource[];
}

/** How rows are read and checked; `rows` may be the path of a file. */
type RowsOptions = ReadingOptions &
  Pick<
    TrainSettings,
    | 'type'
    | 'labels'
    | 'positive'
    | 'passages'
    | 'dev'
    | 'devFraction'
    | 'seed'
    | 'signal'
    | 'path'
    | 'test'
    | 'effort'
    | 'hasReadRows'
  > & {
    readonly rows?: RowsOrPath | undefined;
  };

/** An archive on this machine: a zip, by the name that messages call it, or its unpacked folder. */
interface PlacedArchive {
  readonly kind: 'zip' | 'folder';
  readonly path: string;
  readonly name: string;
}

/** Prepares the rows of its options or an archive, in any thread. */
export interface DatasetTask {
  readonly kind: 'dataset';
  readonly options: RowsOptions;
  readonly archive?: PlacedArchive;
  /** A folder for what is unpacked and read. */
  readonly work: string;
  readonly isReadOften: boolean;
}

/**
 * Reads and checks rows: few in this thread, many in one of their own. An archive is left to the training, unless
 * `isReadOften`: several training runs read it.
 * @param work a folder for what is unpacked or read. @throws ValidationError, DatasetError, DownloadError, AbortedError
 */
export async function prepareDataset(
  settings: TrainSettings,
  work: string,
  { isReadOften = false }: { readonly isReadOften?: boolean } = {},
): Promise<PreparedDataset> {
  const { source, type: given, signal, isolation, memoryLimit = defaultMemoryLimit() } = settings;
  if (source.kind === 'labels') return datasetOfLabels(source.labels, settings);
  if (source.kind === 'url') {
    refuseRowOptions(settings);
    if (given !== undefined && !isReadOften && settings.positive === undefined) {
      return { dataset: { url: source.url }, type: found(given, 'given', 'as asked for') };
    }
  }
  const rows =
    source.kind === 'rows' ? source.rows : source.kind === 'path' ? await rowsAtPath(source.path) : undefined;
  const archive = rows === undefined ? await placedArchive(source, settings, work) : undefined;
  const doing = 'the training';
  return withFewRows(rowsOptions(rows, settings), { doing, signal }, async ({ options, areFew }) => {
    const task: DatasetTask = { kind: 'dataset', options, ...(archive && { archive }), work, isReadOften };
    const isSmall = archive === undefined ? areFew : await isSmallArchive(archive, task);
    if (isSmall || isolation === 'inline') return prepareHere({ ...task, options: { ...options, signal } });
    const origin = archive?.name ?? (typeof rows === 'string' ? basename(rows) : 'rows');
    const limits = { doing, origin, signal, memoryLimit };
    const { rows: packed, ...prepared } = await inRowsThread<DatasetTask, PackedDataset>(task, limits);
    return { ...prepared, ...(packed && { rows: unpackedRows(packed) }) };
  });
}

/** Prepares a dataset in a thread: rows come to a file, so that no other thread has to take them apart. */
export async function packDataset(task: DatasetTask): Promise<PackedDataset> {
  const { dataset, rows, ...prepared } = await prepareHere(task);
  const packed = rows && { rows: packRows([...rows]) };
  if (!('rows' in dataset)) return { ...prepared, dataset, ...packed };
  const file = join(task.work, 'rows');
  await writeDataset(file, dataset.rows);
  return { ...prepared, dataset: { file }, ...packed };
}

interface PackedDataset extends Omit<PreparedDataset, 'rows'> {
  readonly rows?: readonly Uint8Array[];
}

async function prepareHere({ options, archive, work, isReadOften }: DatasetTask): Promise<PreparedDataset> {
  const { rows, ...settings } = options;
  if (rows !== undefined) return datasetOfRows(rows, settings);
  if (archive === undefined) throw new TypeError('there is nothing to prepare');
  const { kind, path, name } = archive;
  if (kind === 'folder') return archiveIn(path, settings, isReadOften);
  const directory = join(work, 'archive');
  await unzip(path, directory, { name, signal: settings.signal });
  return archiveIn(directory, settings, isReadOften);
}

function rowsOptions(rows: RowsOrPath | undefined, settings: TrainSettings): RowsOptions {
  const { type, labels, positive, passages, dev, devFraction, seed, path, test, hasReadRows } = settings;
  const effort = settings.effort ?? settings.tuning?.effort;
  const { columns, format, encoding, delimiter, offsets, tagNames, skipInvalid } = settings;
  return {
    ...{ rows, type, labels, positive, passages, dev, devFraction, seed, path, effort, hasReadRows },
    ...{ columns, format, encoding, delimiter, offsets, tagNames, skipInvalid },
    ...(typeof test === 'string' && { test }), // rows to test on are read later
  };
}

/** The path of a file of rows, or undefined of an archive. */
async function rowsAtPath(path: string): Promise<string | undefined> {
  const entry = await stat(path).catch(() => undefined);
  if (entry === undefined) throw missingFile(path);
  const areRows = entry.isFile() ? fileKind(path) !== ZIP || isWorkbook(path) : await isBratFolder(path);
  return areRows ? path : undefined;
}

async function placedArchive(
  source: TrainSettings['source'],
  settings: TrainSettings,
  work: string,
): Promise<PlacedArchive | undefined> {
  if (source.kind === 'url') return fetchDataset(source.url, { directory: work, signal: settings.signal });
  if (source.kind !== 'path') return undefined;
  refuseRowOptions(settings);
  const { path } = source;
  return { kind: (await stat(path)).isFile() ? 'zip' : 'folder', path, name: basename(path) };
}

/** Whether little of an archive is read here. */
async function isSmallArchive({ kind, path }: PlacedArchive, { options, isReadOften }: DatasetTask): Promise<boolean> {
  if (kind === 'zip') return isSmallFile(path);
  if (options.type !== undefined && !isReadOften) return true;
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    if (entry.isFile() && !(await isSmallFile(join(entry.parentPath, entry.name)))) return false;
  }
  return true;
}

/** A workbook is a zip, too. It is refused as what it is. */
const isWorkbook = (path: string): boolean => /\.(?:xlsx|xlsm|ods)$/iu.test(path);

function missingFile(path: string): DatasetError {
  const expected = 'a file of rows, or a dataset archive: a zip or its unpacked folder';
  const found = beginsAtHome(path) ? `found no such file (${HOME_HINT})` : 'found no such file or folder';
  return new DatasetError([{ file: path, found, expected }]);
}

/** Reads and checks the rows to train on, and finds their type. @throws as {@link prepareDataset} */
export async function readTypedRows(
  rows: RowsOrPath,
  settings: Pick<TrainSettings, 'labels' | 'passages' | 'signal' | 'type' | 'effort'> & {
    readonly reading: ReadingOptions;
  },
) {
  const { reading, passages, signal, labels, type: given, effort } = settings;
  const isMultilabel = given === undefined ? undefined : given === 'multilabel-text-classification';
  const option = typeof rows === 'string' ? 'path' : 'rows';
  const table = await readRows(rows, { option, reading, isMultilabel, signal });
  const known = labels !== undefined && table.checked.shape === 'label' ? labelNames(labels).names : undefined;
  const type = known ? typeOfRows(table, typeOfNames(known, given).type) : typeOfRows(table, given);
  if (effort !== undefined && arePairs(table.checked)) {
    throw invalid(['effort'], 'applies only to single texts, and the rows are pairs; leave `effort` out');
  }
  if (labels !== undefined && type.family !== 'Papaya') {
    throw invalid(['labels'], `applies only to classifiers, not to ${type.type}; leave \`labels\` out`);
  }
  if (passages !== undefined && type.type !== 'question-answering') {
    throw invalid(['passages'], `applies only to question-answering, not to ${type.type}; leave \`passages\` out`);
  }
  return { table, type };
}

/** @throws ValidationError, DatasetError */
async function datasetOfLabels({ names, descriptions }: LabelNames, settings: TrainSettings): Promise<PreparedDataset> {
  refuseRowOptions({ ...settings, labels: undefined }, 'there are no rows');
  const type = typeOfNames(names, settings.type);
  requirePositive(settings.positive, type.type, names);
  const { fromNames } = await families[type.family].rows();
  if (fromNames === undefined)
    throw invalid(['labels'], `applies only to classifiers, not to ${type.type}; leave \`labels\` out`);
  return { dataset: { rows: fromNames(names, descriptions, type.type) }, type, rows: [] };
}

/** @throws ValidationError for labels that repeat. */
function typeOfNames(names: readonly string[], given: ModelType | undefined): FoundType {
  const repeated = names.find((name, at) => names.indexOf(name) < at);
  if (repeated !== undefined)
    throw invalid(['labels'], `the label ${quoted(repeated)} occurs twice; give each label once`);
  if (given !== undefined) return found(given, 'given', 'as asked for');
  const type = names.length === 2 ? 'binary-text-classification' : 'multiclass-text-classification';
  return found(type, 'inferred', `${counted(names.length, 'label')} given`);
}

async function datasetOfRows(rows: RowsOrPath, settings: Omit<RowsOptions, 'rows'>): Promise<PreparedDataset> {
  const { signal, devFraction, seed, passages, dev: given, skipInvalid, offsets, hasReadRows } = settings;
  const asWritten = readingOf(rows, settings);
  const ofTrain = hasReadRows && offsets !== undefined ? { ...asWritten, offsets: 'utf-16' as const } : asWritten;
  const { table: train, type } = await readTypedRows(rows, { ...settings, reading: ofTrain });
  const isMultilabel = type.type === 'multilabel-text-classification';
  const reading = given === undefined ? {} : readingOf(given, settings);
  const dev = given === undefined ? undefined : await readRows(given, { option: 'dev', isMultilabel, reading, signal });
  if (dev) requireFitting(dev.checked, type);
  const { labels } = settings;
  const { names: classes, descriptions } = labels ? labelNames(labels) : {};
  const sets = { train, dev, devFraction, seed, passages, classes, descriptions, skipInvalid };
  const { dataset, leftOut } = await checkedRows(sets, type, signal);
  const names: unknown = 'labels' in dataset ? dataset.labels : [];
  requirePositive(settings.positive, type.type, Array.isArray(names) ? names.map(String) : []);
  const noticed = [...(train.warnings ?? []), ...(dev?.warnings ?? [])];
  const made = { ...dataset, warnings: [...noticed, ...leftOut, ...dataset.warnings] };
  const read = [train, ...(dev ? [dev] : [])].map(({ origin, readAs, uses }): ReadSource => ({ origin, readAs, uses }));
  return { dataset: { rows: made }, type, rows: train.checked.rows, readAs: train.readAs, read };
}

/**
 * How rows are read. Options for files apply to the files that are given together with rows in memory; without files, they are
 * refused.
 */
export function readingOf(
  source: RowsOrPath,
  {
    columns,
    format,
    encoding,
    delimiter,
    offsets,
    tagNames,
    skipInvalid,
    hasReadRows = false,
    ...others
  }: ReadingOptions & Partial<Pick<TrainSettings, 'path' | 'dev' | 'test' | 'hasReadRows'>>,
): ReadingOptions {
  const ofAll = { offsets, tagNames, skipInvalid };
  const hasFile = hasReadRows || [others.path, others.dev, others.test].some((each) => typeof each === 'string');
  return typeof source !== 'string' && hasFile ? ofAll : { columns, format, encoding, delimiter, ...ofAll };
}

/** @throws ValidationError for rows of another kind than the rows to train on. @param option what they were given as */
export function requireFitting({ shape }: CheckedRows, { type }: FoundType, option = 'dev'): void {
  const fitting = shapesFor(type);
  if (fitting.includes(shape)) return;
  const wanted = fitting.map(fieldsOf).join(', or ');
  const msg = `the rows have ${fieldsOf(shape)}, but the rows to train on have ${wanted}; give both the same fields`;
  throw invalid([option], msg);
}

/** @throws ValidationError for a setting that training a model of this type has no use for */
export function requireUsedSettings({ type, family }: FoundType, { effort, tuning = {} }: TrainSettings): void {
  if (family !== 'Dragonfruit') return;
  const unused = [
    ['effort', effort],
    ['tuning.effort', tuning.effort],
    ['tuning.labelSmoothing', tuning.labelSmoothing],
    ['tuning.classWeights', tuning.classWeights],
  ] as const;
  for (const [name, value] of unused) {
    if (value !== undefined) throw invalid(name.split('.'), `${type} does not use \`${name}\`; leave it out`);
  }
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
  { type: given, positive, signal }: Pick<RowsOptions, 'type' | 'positive' | 'signal'>,
  isReadOften: boolean,
): Promise<PreparedDataset> {
  const type = given === undefined ? await typeOfArchive(folder) : found(given, 'given', 'as asked for');
  if (positive !== undefined) await requirePositiveIn(folder, type.type, positive, signal);
  const rows = isReadOften ? await families[type.family].rows() : undefined;
  return { dataset: rows ? { rows: await rows.read(folder, type.type, signal) } : { folder }, type };
}

/** @throws ValidationError for an option that only rows have a use for. */
function refuseRowOptions(
  { dev, devFraction, labels, passages, ...settings }: TrainSettings,
  reason = 'an archive has its own',
): void {
  const { columns, format, encoding, delimiter, offsets, tagNames, skipInvalid } = settings;
  const reading = { columns, format, encoding, delimiter, offsets, tagNames, skipInvalid };
  for (const [name, value] of Object.entries({ dev, devFraction, labels, passages, ...reading })) {
    if (value === undefined) continue;
    throw invalid([name], `${reason}; leave \`${name}\` out, or give rows or a file of rows`);
  }
}

const MAX_NAME = 24;

/** A model's name: as asked for, else by its file: `Reviews 2026.csv` becomes `reviews-2026`. */
export function nameOf({ name: given, source }: TrainSettings): string {
  if (given !== undefined) return given;
  if (source.kind === 'rows' || source.kind === 'labels') return 'model';
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
