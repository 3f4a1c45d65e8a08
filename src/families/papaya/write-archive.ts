import { CONFIG_FILE, LABEL_FILE, ProblemList } from '../../datasets/index.js';
import {
  type ArchiveOptions,
  type ArchiveSummary,
  checkArchiveOptions,
  DEFAULT_DEV_FRACTION,
  invalidOption,
  jsonFile,
  type PreparedArchive,
} from '../archive-writing.js';
import { foldText } from '../dataset-text.js';
import { type Splits, splitDev } from '../split-dev.js';
import { checkRow, nameNotation, type WrittenRow } from './check-row.js';
import { checkTrainable, findWarnings } from './check-splits.js';
import { checkLabelCount, LABEL_COLUMN, numClassLabels, TEXT_COLUMN } from './classification-config.js';
import {
  type ClassificationKind,
  type ClassificationType,
  classificationKind,
  classificationTypes,
  type LocatedRow,
} from './classification-dataset.js';
import { type RowSource, readSource, type SourceTable } from './source-rows.js';

const TRAIN_FILE = 'train.tsv';
const DEV_FILE = 'dev.tsv';

/** What `createClassificationArchive` is to write. */
export interface ClassificationArchiveOptions extends ArchiveOptions<RowSource> {
  /** The type of model to train on it. */
  readonly type: ClassificationType;
  /** The names in the order of their ids. Default: those that occur, sorted. */
  readonly labels?: readonly string[] | undefined;
}

/** What was written. */
export interface ClassificationArchiveSummary extends ArchiveSummary {
  /** In the order of their ids. */
  readonly labels: readonly string[];
  /** How many texts had tabs or line breaks, which became spaces because the format can't hold them. */
  readonly respacedTexts: number;
}

function checkOptions(options: ClassificationArchiveOptions): void {
  const { type, labels = [] } = options;
  if (!classificationTypes.includes(type)) {
    throw invalidOption('type', `give one of ${classificationTypes.join(', ')}`);
  }
  checkArchiveOptions(options);
  if (labels.includes('') || new Set(labels).size < labels.length) {
    throw invalidOption('labels', 'give every label once, and none that is empty');
  }
}

/** Reads and checks the rows. @throws DatasetError with every problem, ValidationError */
export async function prepareArchive(
  options: ClassificationArchiveOptions,
): Promise<PreparedArchive<ClassificationArchiveSummary>> {
  checkOptions(options);
  const { type, rows, devRows, devFraction = DEFAULT_DEV_FRACTION, seed = 0 } = options;
  const problems = new ProblemList();
  const kind = classificationKind(type);
  const trainTable = await readSource(rows, 'rows', kind, problems);
  const devTable = devRows && (await readSource(devRows, 'devRows', kind, problems));
  const labels = options.labels ?? namesIn([...trainTable.rows, ...(devTable?.rows ?? [])]);
  const given = checkTable(trainTable, kind, labels, problems);
  const givenDev = devTable && checkTable(devTable, kind, labels, problems);
  if (problems.total > 0) throw problems.toError();

  const { train, dev } = givenDev
    ? { train: given.rows, dev: givenDev.rows }
    : setAside(given.rows, devFraction, seed);
  checkLabelCount(kind, labels, trainTable.file, problems);
  checkTrainable(kind, labels, train, trainTable.file, problems);
  if (dev.length === 0) problems.add(tooFewToSplit(trainTable.file));
  if (problems.total > 0) throw problems.toError();
  return {
    files: archiveFiles(options, labels, { train, dev }),
    summary: {
      labels,
      train: train.length,
      dev: dev.length,
      removedDuplicates: given.removedDuplicates + (givenDev?.removedDuplicates ?? 0),
      respacedTexts: given.respacedTexts + (givenDev?.respacedTexts ?? 0),
      warnings: await findWarnings(labels, train, dev),
    },
  };
}

/** The distinct names of labels, sorted; as numbers if all of them are whole numbers. */
function namesIn(rows: readonly WrittenRow[]): readonly string[] {
  const names = [...new Set(rows.flatMap(({ labels }) => labels))].filter((name) => name !== '');
  return names.every((name) => /^\d+$/.test(name))
    ? names.sort((a, b) => Number(a) - Number(b))
    : names.sort();
}

interface CheckedTable {
  readonly rows: readonly LocatedRow[];
  readonly removedDuplicates: number;
  readonly respacedTexts: number;
}

function checkTable(
  { file, columns, rows: written }: SourceTable,
  kind: ClassificationKind,
  labels: readonly string[],
  problems: ProblemList,
): CheckedTable {
  if (written.length === 0 && problems.total === 0) {
    problems.add({ file, found: 'found no rows', expected: 'at least one row' });
  }
  const rules = { kind, columns, notation: nameNotation(labels) };
  const rows = new Map<string, LocatedRow>();
  let accepted = 0;
  let respacedTexts = 0;
  for (const each of written) {
    const text = respaced(each.text);
    const row = checkRow({ ...each, text }, rules, problems);
    if (row === undefined) continue;
    accepted += 1;
    if (text !== each.text) respacedTexts += 1;
    const key = tableLine(row);
    if (!rows.has(key)) rows.set(key, row);
  }
  return { rows: [...rows.values()], removedDuplicates: accepted - rows.size, respacedTexts };
}

function respaced(text: string): string {
  return text.replace(/\r\n|[\t\r\n]/g, ' ');
}

/** Rows whose texts differ only in case or spacing stay together. */
function setAside(rows: readonly LocatedRow[], devFraction: number, seed: number): Splits<LocatedRow> {
  const keysOf = ({ text, labelIds }: LocatedRow) => ({ text: foldText(text), labels: labelIds });
  return splitDev(rows, keysOf, devFraction, seed);
}

function tooFewToSplit(file: string) {
  const found = 'found too few texts to set any aside for dev';
  return { file, found, expected: 'at least two texts of one label, or rows for dev' };
}

function archiveFiles(
  { type, name, description = name }: ClassificationArchiveOptions,
  labels: readonly string[],
  { train, dev }: Splits<LocatedRow>,
): Readonly<Record<string, string>> {
  const config = {
    desc: description,
    DATASET_NAME: name,
    DATA_DIR: name,
    TRAIN_FILE,
    DEV_FILE,
    field_names: [TEXT_COLUMN, LABEL_COLUMN],
    field_header: 0,
    NUM_CLASS_LABELS: numClassLabels(classificationKind(type), labels),
  };
  return {
    [`${name}/${CONFIG_FILE}`]: jsonFile(config),
    [`${name}/${LABEL_FILE}`]: jsonFile(Object.fromEntries(labels.entries())),
    [`${name}/${TRAIN_FILE}`]: table(train),
    [`${name}/${DEV_FILE}`]: table(dev),
  };
}

function table(rows: readonly LocatedRow[]): string {
  return [`${TEXT_COLUMN}\t${LABEL_COLUMN}`, ...rows.map(tableLine), ''].join('\n');
}

function tableLine({ text, labelIds }: LocatedRow): string {
  return `${text}\t${labelIds.join()}`;
}
