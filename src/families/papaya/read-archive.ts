import type { ModelType } from '../../contract/index.js';
import {
  type ArchiveFile,
  type ArchiveFolder,
  counted,
  findConfiguredFile,
  LABEL_FILE,
  MAX_LABELS,
  openArchive,
  ProblemList,
  quoted,
  readArchiveConfig,
  readLabelIds,
  readLines,
  type TextLine,
} from '../../datasets/index.js';
import { pacedMap } from '../../pauses.js';
import { checkRow, idNotation, type RowRules } from './check-row.js';
import { checkTrainable, findWarnings } from './check-splits.js';
import { checkLabelCount, checkNumClassLabels, classificationConfigSchema } from './classification-config.js';
import {
  type ClassificationDataset,
  type ClassificationKind,
  classificationKind,
  type LabelledText,
  type LocatedRow,
} from './classification-dataset.js';

/**
 * Reads the unpacked archive of a text classification and checks every rule of docs/archives.md. All problems
 * are found in one pass, except that rows can't be checked without config.json and label_id.json.
 * @throws DatasetError with every problem; TypeError for a model type of another family.
 */
export async function readClassificationArchive(
  directory: string,
  type: ModelType,
  signal?: AbortSignal,
): Promise<ClassificationDataset> {
  const kind = classificationKind(type);
  const problems = new ProblemList();
  const dataset = await readDataset(openArchive(directory), kind, problems, signal);
  if (dataset === undefined || problems.total > 0) throw problems.toError();
  return dataset;
}

async function readDataset(
  archive: ArchiveFolder,
  kind: ClassificationKind,
  problems: ProblemList,
  signal: AbortSignal | undefined,
): Promise<ClassificationDataset | undefined> {
  const config = await readArchiveConfig(archive, classificationConfigSchema, problems, signal);
  const labels = await readLabelIds(archive, problems, { most: MAX_LABELS }, signal);
  if (labels) checkLabelCount(kind, labels, LABEL_FILE, problems);
  if (config === undefined || labels === undefined) return undefined;
  checkNumClassLabels(kind, labels, config, problems);
  const trainFile = findConfiguredFile(archive, config, 'TRAIN_FILE', config.TRAIN_FILE, problems);
  const devFile = findConfiguredFile(archive, config, 'DEV_FILE', config.DEV_FILE, problems);
  const { names, roles } = config.field_names;
  const rules = { kind, columns: roles, notation: idNotation(labels) };
  const reading = { names, rules, problems, signal };
  const train = trainFile ? await readSplit(trainFile, reading) : [];
  const dev = devFile ? await readSplit(devFile, reading) : [];
  if (problems.total === 0) checkTrainable(kind, labels, train, config.TRAIN_FILE, problems);
  if (problems.total > 0) return undefined;
  return {
    kind,
    labels,
    train: await pacedMap(train, withoutLocation, signal),
    dev: await pacedMap(dev, withoutLocation, signal),
    warnings: await findWarnings(labels, train, dev, signal),
  };
}

function withoutLocation({ text, labelIds }: LocatedRow): LabelledText {
  return { text, labelIds };
}

interface SplitReading {
  /** Of the columns. */
  readonly names: readonly string[];
  readonly rules: RowRules;
  readonly problems: ProblemList;
  readonly signal: AbortSignal | undefined;
}

/** The rows of a tab-separated file. Quotes are plain characters: the format has no quoting. */
async function readSplit(
  file: ArchiveFile,
  { names, rules, problems, signal }: SplitReading,
): Promise<LocatedRow[]> {
  const before = problems.total;
  const lines = await readLines(file.path, file.name, problems, signal);
  const areAllDecoded = problems.total === before;
  const [header, ...rest] = withoutTrailingBlanks(lines ?? []);
  // If the header can't be decoded, which is a problem already, the rows can't be read either.
  if (header?.number !== 1 && !areAllDecoded) return [];
  if (rest.length === 0 && areAllDecoded) {
    const found = header ? 'found a header row and no other' : 'found an empty file';
    problems.add({ file: file.name, found, expected: 'a header row, then one row for each text' });
  }
  const columns = header && readHeader(header, names, file.name, problems);
  if (columns === undefined) return [];
  const rows = await pacedMap(rest, (line) => readRow(line, file.name, columns, rules, problems), signal);
  return rows.filter((row) => row !== undefined);
}

function withoutTrailingBlanks(lines: readonly TextLine[]): readonly TextLine[] {
  return lines.slice(0, lines.findLastIndex(({ text }) => text !== '') + 1);
}

/** @returns the columns in the order of the header; it may differ from that of field_names. */
function readHeader(
  { number: line, text }: TextLine,
  fieldNames: readonly string[],
  file: string,
  problems: ProblemList,
): readonly string[] | undefined {
  const columns = text.split('\t');
  const isPermutation =
    columns.length === fieldNames.length && fieldNames.every((name) => columns.includes(name));
  if (isPermutation) return columns;
  const expected = `a header row with the field_names of config.json (${fieldNames.join(', ')}), tab-separated`;
  problems.add({ file, line, found: `found ${quoted(text)}`, expected });
  return undefined;
}

function readRow(
  { number: line, text }: TextLine,
  file: string,
  columns: readonly string[],
  rules: RowRules,
  problems: ProblemList,
): LocatedRow | undefined {
  const cells = text.split('\t');
  if (cells.length !== columns.length) {
    const found = text === '' ? 'found an empty line' : `found ${counted(cells.length, 'column')}`;
    problems.add({ file, line, found, expected: `${columns.length} columns separated by tabs` });
    return undefined;
  }
  const written = cells[columns.indexOf(rules.columns.label)] ?? '';
  const row = {
    file,
    line,
    text: cells[columns.indexOf(rules.columns.text)] ?? '',
    labels: rules.kind === 'multilabel' ? splitLabels(written) : [written.trim()],
  };
  return checkRow(row, rules, problems);
}

/** `"0, 3"` → `["0", "3"]`; nothing at all means no label. */
function splitLabels(written: string): readonly string[] {
  return written.trim() === '' ? [] : written.split(',').map((each) => each.trim());
}
