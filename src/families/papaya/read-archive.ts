import type { ModelType } from '../../contract/index.js';
import {
  type ArchiveFile,
  type ArchiveFolder,
  counted,
  findConfiguredFile,
  LABEL_FILE,
  openArchive,
  ProblemList,
  quoted,
  readArchiveConfig,
  readLabelIds,
  readLines,
  type TextLine,
} from '../../datasets/index.js';
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
export function readClassificationArchive(directory: string, type: ModelType): ClassificationDataset {
  const kind = classificationKind(type);
  const problems = new ProblemList();
  const dataset = readDataset(openArchive(directory), kind, problems);
  if (dataset === undefined || problems.total > 0) throw problems.toError();
  return dataset;
}

function readDataset(
  archive: ArchiveFolder,
  kind: ClassificationKind,
  problems: ProblemList,
): ClassificationDataset | undefined {
  const config = readArchiveConfig(archive, classificationConfigSchema, problems);
  const labels = readLabelIds(archive, problems);
  if (labels) checkLabelCount(kind, labels, LABEL_FILE, problems);
  if (config === undefined || labels === undefined) return undefined;
  checkNumClassLabels(kind, labels, config, problems);
  const trainFile = findConfiguredFile(archive, config, 'TRAIN_FILE', config.TRAIN_FILE, problems);
  const devFile = findConfiguredFile(archive, config, 'DEV_FILE', config.DEV_FILE, problems);
  const { names, roles } = config.field_names;
  const rules = { kind, columns: roles, notation: idNotation(labels) };
  const train = trainFile ? readSplit(trainFile, names, rules, problems) : [];
  const dev = devFile ? readSplit(devFile, names, rules, problems) : [];
  if (problems.total === 0) checkTrainable(kind, labels, train, config.TRAIN_FILE, problems);
  if (problems.total > 0) return undefined;
  return {
    kind,
    labels,
    train: train.map(withoutLocation),
    dev: dev.map(withoutLocation),
    warnings: findWarnings(labels, train, dev),
  };
}

function withoutLocation({ text, labelIds }: LocatedRow): LabelledText {
  return { text, labelIds };
}

/** The rows of a tab-separated file. Quotes are plain characters: the format has no quoting. */
function readSplit(
  file: ArchiveFile,
  fieldNames: readonly string[],
  rules: RowRules,
  problems: ProblemList,
): LocatedRow[] {
  const before = problems.total;
  const lines = readLines(file.path, file.name, problems);
  const areAllDecoded = problems.total === before;
  const [header, ...rest] = withoutTrailingBlanks(lines ?? []);
  // If the header can't be decoded, which is a problem already, the rows can't be read either.
  if (header?.number !== 1 && !areAllDecoded) return [];
  if (rest.length === 0 && areAllDecoded) {
    const found = header ? 'found a header row and no other' : 'found an empty file';
    problems.add({ file: file.name, found, expected: 'a header row, then one row for each text' });
  }
  const columns = header && readHeader(header, fieldNames, file.name, problems);
  if (columns === undefined) return [];
  return rest
    .map((line) => readRow(line, file.name, columns, rules, problems))
    .filter((row) => row !== undefined);
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
