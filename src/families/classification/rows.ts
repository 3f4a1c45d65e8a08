import * as z from 'zod';
import {
  type ArchiveFile,
  type ArchiveFolder,
  CONFIG_FILE,
  counted,
  type DatasetLocation,
  type DatasetWarning,
  findConfiguredFile,
  LABEL_FILE,
  MAX_LABELS,
  openArchive,
  ProblemList,
  placeOfField,
  placeOfRow,
  quoted,
  type RowTable,
  readArchiveConfig,
  readLabelIds,
  readLines,
  splitFilesSchema,
  type TextLine,
} from '../../datasets/index.js';
import { mapWithPauses } from '../../system/index.js';
import type { FamilyRows } from '../family.js';
import {
  comparisonWarnings,
  findTextProblem,
  foldLabel,
  foldText,
  type RowComparison,
  requireValid,
  type Splits,
  splitRowSets,
} from '../row-sets.js';
import {
  type ClassificationDataset,
  type ClassificationKind,
  classificationKind,
  type LabelledText,
  type LocatedRow,
  nameAsWords,
} from './classification-dataset.js';

const TEXT_COLUMN = 'sentence';
const LABEL_COLUMN = 'label';

/** The column names as config.json has them, and which column holds what. */
const fieldNames = z
  .array(z.string('a string').min(1, 'the name of a column'), 'an array of column names')
  .transform((names, context) => {
    const roles = columnRoles(names);
    if (roles) return { names, roles };
    const message = `the names of two columns, text then label, as in ["${TEXT_COLUMN}", "${LABEL_COLUMN}"]`;
    context.addIssue({ code: 'custom', message, input: names });
    return z.NEVER;
  });

const classificationConfigSchema = splitFilesSchema.extend({
  field_names: fieldNames,
  field_header: z.literal(0, '0 (the header is the first row)').default(0),
  NUM_CLASS_LABELS: z.int('a whole number'),
});

interface ColumnRoles {
  readonly text: string;
  readonly label: string;
}

/** Columns called "sentence" and "label" are text and label; otherwise the text comes first. Undefined if ambiguous. */
function columnRoles(names: readonly string[]): ColumnRoles | undefined {
  if (new Set(names).size < names.length) return undefined;
  if (names.includes(TEXT_COLUMN) && names.includes(LABEL_COLUMN)) {
    return { text: TEXT_COLUMN, label: LABEL_COLUMN };
  }
  const [first, second, ...more] = names;
  if (first === undefined || second === undefined || more.length > 0) return undefined;
  const isSwapped = second === TEXT_COLUMN || first === LABEL_COLUMN;
  return isSwapped ? { text: second, label: first } : { text: first, label: second };
}

/** What NUM_CLASS_LABELS should be: the number of labels, but 1 for a binary model, which has two. */
function numClassLabels(kind: ClassificationKind, labels: readonly string[]): number {
  return kind === 'binary' ? 1 : labels.length;
}

/** Adds a problem if a model of this kind can't have this number of labels. */
function checkLabelCount(
  kind: ClassificationKind,
  labels: readonly string[],
  file: string,
  problems: ProblemList,
): void {
  const isAllowed = {
    binary: labels.length === 2,
    multiclass: labels.length >= 2,
    multilabel: labels.length >= 1,
  };
  if (isAllowed[kind]) return;
  const expected = { binary: 'exactly 2', multiclass: 'at least 2', multilabel: 'at least 1' };
  const listed = labels.length === 0 ? '' : ` (${quotedLabels(labels)})`;
  const found = `found ${counted(labels.length, 'label')}${listed}`;
  problems.add({ file, found, expected: `${expected[kind]} for a ${kind} model` });
}

function checkNumClassLabels(
  kind: ClassificationKind,
  labels: readonly string[],
  config: z.infer<typeof classificationConfigSchema>,
  problems: ProblemList,
): void {
  const expected = numClassLabels(kind, labels);
  if (config.NUM_CLASS_LABELS === expected) return;
  problems.add({
    file: CONFIG_FILE,
    column: 'NUM_CLASS_LABELS',
    found: `found ${config.NUM_CLASS_LABELS}`,
    expected: kind === 'binary' ? '1 for a binary model' : `${expected}, the number of labels in label_id.json`,
  });
}

function quotedLabels(labels: readonly string[]): string {
  const shown = labels.slice(0, 6).map((label) => quoted(label));
  return labels.length > shown.length ? `${shown.join(', ')}, …` : shown.join(', ');
}

interface WrittenRow extends DatasetLocation {
  readonly text: string;
  readonly labels: readonly string[];
}

/** How labels are written: as ids in an archive, by name in rows. */
interface LabelNotation {
  idOf(written: string): number | undefined;
  /** What a written label is called: `label id`, `label`. */
  readonly noun: string;
  readonly expected: string;
}

function idNotation(labels: readonly string[], kind: ClassificationKind): LabelNotation {
  const several = kind === 'multilabel' ? ', ids separated by commas' : '';
  return {
    idOf: (written) => {
      const id = /^(0|[1-9]\d{0,8})$/.test(written) ? Number(written) : Number.NaN;
      return id < labels.length ? id : undefined;
    },
    noun: 'label id',
    expected: `an id of label_id.json (0 to ${labels.length - 1})${several}`,
  };
}

function nameNotation(labels: readonly string[]): LabelNotation {
  const ids = new Map(labels.map((label, id) => [label, id]));
  return { idOf: (written) => ids.get(written), noun: 'label', expected: `one of ${quotedLabels(labels)}` };
}

interface RowRules {
  readonly kind: ClassificationKind;
  readonly columns: ColumnRoles;
  readonly notation: LabelNotation;
}

/** @returns the row with label ids, or undefined after adding at least one problem. */
function checkRow(row: WrittenRow, rules: RowRules, problems: ProblemList): LocatedRow | undefined {
  const { file, line, text } = row;
  const before = problems.total;
  const textProblem = findTextProblem(text);
  if (textProblem) problems.add({ file, line, column: rules.columns.text, ...textProblem });
  const labelIds = checkLabels(row, rules, problems);
  return problems.total === before ? { text, labelIds, file, line } : undefined;
}

function checkLabels({ file, line, labels }: WrittenRow, rules: RowRules, problems: ProblemList): number[] {
  const { kind, notation } = rules;
  const { idOf, noun, expected } = notation;
  const column = rules.columns.label;
  if (kind !== 'multilabel' && labels.length !== 1) {
    const found = labels.length === 0 ? `found no ${noun}` : `found ${labels.length} labels`;
    problems.add({ file, line, column, found, expected: `one label for a ${kind} model` });
  }
  const ids = new Set<number>();
  for (const written of labels) {
    const id = idOf(written);
    const shown = written === '' ? `no ${noun}` : `${noun} ${/^\d+$/.test(written) ? written : quoted(written)}`;
    if (id === undefined) problems.add({ file, line, column, found: `found ${shown}`, expected });
    else if (ids.has(id)) {
      problems.add({ file, line, column, found: `found ${shown} twice`, expected: 'every label once' });
    } else ids.add(id);
  }
  return ids.size === 1 ? [...ids] : [...ids].sort((a, b) => a - b);
}

/** Adds a problem if the train rows leave nothing to tell apart: one class only, or no label at all. */
function checkTrainable(
  kind: ClassificationKind,
  labels: readonly string[],
  train: readonly LocatedRow[],
  file: string,
  problems: ProblemList,
): void {
  const used = usedLabels(train);
  const needed = kind === 'multilabel' ? 1 : 2;
  if (train.length === 0 || used.size >= needed) return;
  const only = labels.filter((_, id) => used.has(id));
  const found = `found ${only.length === 0 ? 'no label on any row' : `the label ${quotedLabels(only)} only`}`;
  problems.add({ file, found, expected: `rows of at least ${counted(needed, 'label')}` });
}

function usedLabels(rows: readonly LocatedRow[]): ReadonlySet<number> {
  const used = new Set<number>();
  for (const { labelIds } of rows) for (const id of labelIds) used.add(id);
  return used;
}

/** Texts are compared after folding case and white space. */
const comparison: RowComparison<LocatedRow> = {
  noun: 'row',
  train: 'train',
  dev: 'dev',
  textOf: ({ text }) => foldText(text),
  answerOf: ({ labelIds }) => labelIds.join(),
  aside: ', case and spacing aside',
  conflict: 'with the text of an earlier row but other labels',
};

async function datasetOf(
  kind: ClassificationKind,
  labels: readonly string[],
  { train, dev }: Splits<LocatedRow>,
  signal: AbortSignal | undefined,
): Promise<ClassificationDataset> {
  return {
    kind,
    labels,
    train: await mapWithPauses(train, withoutFile, signal),
    dev: await mapWithPauses(dev, withoutFile, signal),
    files: { train: train[0]?.file ?? '', dev: dev[0]?.file ?? '' },
    warnings: [
      ...(await comparisonWarnings({ train, dev }, comparison, signal)),
      ...classWarnings(labels, train, 'train'),
      ...classWarnings(labels, dev, 'dev'),
      ...nameWarnings(labels, [...train, ...dev]),
    ],
  };
}

function withoutFile({ text, labelIds, line }: LocatedRow): LabelledText {
  return { text, labelIds, line };
}

function classWarnings(
  labels: readonly string[],
  split: readonly LocatedRow[],
  name: string,
): readonly DatasetWarning[] {
  const used = usedLabels(split);
  const missing = labels.filter((_, id) => !used.has(id));
  if (missing.length === 0) return [];
  const message = `no row of ${name} has ${missing.length === 1 ? 'the label' : 'the labels'} ${quotedLabels(missing)}`;
  return [{ kind: 'class_without_examples', count: missing.length, message, examples: [] }];
}

/** Names that mean in other programs that there is none. */
const NO_LABEL = /^(?:na|n\/a|nan|null|none|nil|undefined|unknown|-+|\?+)$/iu;

/** Labels that are the same but for case, spaces or Unicode form, and ones that may mean that there is none. */
function nameWarnings(labels: readonly string[], rows: readonly LocatedRow[]): readonly DatasetWarning[] {
  const counts = labels.map(() => 0);
  for (const { labelIds } of rows) for (const id of labelIds) counts[id] = (counts[id] ?? 0) + 1;
  const shown = (id: number) => `${quoted(labels[id] ?? '')} (${counted(counts[id] ?? 0, 'row')})`;
  const groups = new Map<string, number[]>();
  for (const [id, label] of labels.entries()) {
    const key = foldLabel(label);
    groups.set(key, [...(groups.get(key) ?? []), id]);
  }
  const alike = [...groups.values()].filter(({ length }) => length > 1);
  const alikeNames = alike.map((ids) => ids.map(shown).join(' and ')).join('; ');
  const odd = [...labels.keys()].filter((id) => NO_LABEL.test(labels[id] ?? '') && (counts[id] ?? 0) > 0);
  const warning = (kind: DatasetWarning['kind'], count: number, message: string): readonly DatasetWarning[] =>
    count === 0 ? [] : [{ kind, count, message, examples: [] }];
  return [
    ...warning(
      'similar_labels',
      alike.length,
      `labels that differ only in case, spaces or Unicode form: ${alikeNames}`,
    ),
    ...warning(
      'odd_label',
      odd.length,
      `${odd.map(shown).join(', ')} ${odd.length === 1 ? 'is read as a label' : 'are read as labels'}; leave out the rows that have none`,
    ),
  ];
}

export const classificationRows: FamilyRows<ClassificationDataset> = {
  /** Finds all problems at once; without config.json and label_id.json, no rows are checked. @throws DatasetError */
  async read(directory, type, signal) {
    const kind = classificationKind(type);
    return requireValid((problems) => readDataset(openArchive(directory), kind, problems, signal));
  },
  async check(sets, type, signal) {
    const kind = classificationKind(type);
    const problems = new ProblemList();
    const { origin } = sets.train;
    const labels = sets.classes ?? namesIn([sets.train, ...(sets.dev ? [sets.dev] : [])]);
    const notation = nameNotation(labels);
    const { leftOut, isDevDrawn, ...splits } = await splitRowSets<LocatedRow>(sets, problems, {
      noun: 'text',
      needed: 'at least two texts of one label, or rows for dev',
      check: (table) => {
        const columns = {
          text: `${placeOfField(table, 0, 'text').column}`,
          label: `${placeOfField(table, 0, table.checked.shape === 'labels' ? 'labels' : 'label').column}`,
        };
        const rows = writtenRows(table).map((row) => checkRow(row, { kind, columns, notation }, problems));
        return rows.filter((row) => row !== undefined);
      },
      keyOf: ({ text, labelIds }) => `${text}\t${labelIds.join()}`,
      splitKeysOf: ({ text, labelIds }) => ({ text: foldText(text), labels: labelIds }),
      checkTrainable: (train) => {
        checkLabelCount(kind, labels, origin, problems);
        checkTrainable(kind, labels, train, origin, problems);
      },
    });
    const dataset = await datasetOf(kind, labels, splits, signal);
    const { descriptions } = sets;
    const given = { ...(isDevDrawn && { isDevDrawn }), ...(descriptions && { descriptions }) };
    return { dataset: { ...dataset, ...given }, leftOut };
  },
  fromNames(labels, descriptions, type) {
    const kind = classificationKind(type);
    const problems = new ProblemList();
    checkLabelCount(kind, labels, 'labels', problems);
    for (const label of labels) {
      if (descriptions[label] !== undefined || nameAsWords(label) !== undefined) continue;
      const found = `found the label ${quoted(label)}, whose name says nothing`;
      problems.add({ file: 'labels', found, expected: 'names in words, or an object that says what each label means' });
    }
    if (problems.total > 0) throw problems.toError();
    return { kind, labels, descriptions, train: [], dev: [], warnings: [] };
  },
  write: archiveFiles,
};

function writtenRows(table: RowTable): readonly WrittenRow[] {
  const { checked, origin: file } = table;
  const lineOf = (row: number) => placeOfRow(table, row).line;
  if (checked.shape === 'label') {
    return checked.rows.map(({ text, label }, row) => ({ file, line: lineOf(row), text, labels: [label] }));
  }
  if (checked.shape === 'labels') {
    return checked.rows.map(({ text, labels }, row) => ({ file, line: lineOf(row), text, labels }));
  }
  throw new TypeError(`rows of ${checked.shape} are not for text classification`);
}

/** The distinct names of labels, sorted; as numbers if all of them are whole numbers. */
function namesIn(tables: readonly RowTable[]): readonly string[] {
  const all = new Set<string>();
  for (const table of tables) for (const { labels } of writtenRows(table)) for (const label of labels) all.add(label);
  const names = [...all].filter((name) => name !== '');
  return names.every((name) => /^\d+$/.test(name)) ? names.sort((a, b) => Number(a) - Number(b)) : names.sort();
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
  const rules = { kind, columns: roles, notation: idNotation(labels, kind) };
  const reading = { names, rules, problems, signal };
  const train = trainFile ? await readSplit(trainFile, reading) : [];
  const dev = devFile ? await readSplit(devFile, reading) : [];
  if (trainFile && problems.total === 0) await refuseOneHot(kind, labels, trainFile, roles.label, problems, signal);
  if (problems.total === 0) checkTrainable(kind, labels, train, config.TRAIN_FILE, problems);
  if (problems.total > 0) return undefined;
  return datasetOf(kind, labels, { train, dev }, signal);
}

/**
 * With two labels, the cells `1,0` and `0,1` are ids of both labels, but who writes nothing else means a number for each label.
 */
async function refuseOneHot(
  kind: ClassificationKind,
  labels: readonly string[],
  { path, name: file }: ArchiveFile,
  column: string,
  problems: ProblemList,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (kind !== 'multilabel' || labels.length !== 2) return;
  const [header, ...lines] = await readLines(path, file, problems, signal);
  const at = header?.text.split('\t').indexOf(column) ?? -1;
  const cells = lines.flatMap(({ text }) => (text === '' ? [] : [text.split('\t')[at]?.replaceAll(' ', '') ?? '']));
  if (!cells.includes('1,0') || !cells.every((cell) => cell === '1,0' || cell === '0,1')) return;
  const found = 'found "1,0" and "0,1" alone, which are the ids of both labels';
  problems.add({ file, line: 2, column, found, expected: 'the ids of the labels that a row has, such as "0"' });
}

interface SplitReading {
  readonly names: readonly string[];
  readonly rules: RowRules;
  readonly problems: ProblemList;
  readonly signal: AbortSignal | undefined;
}

/** The rows of a tab-separated file. Quotes are plain characters: the format has no quoting. */
async function readSplit(file: ArchiveFile, { names, rules, problems, signal }: SplitReading): Promise<LocatedRow[]> {
  const before = problems.total;
  const lines = await readLines(file.path, file.name, problems, signal);
  const areAllDecoded = problems.total === before;
  const [header, ...rest] = withoutTrailingBlanks(lines);
  // If the header can't be decoded, which is a problem already, the rows can't be read either.
  if (header?.number !== 1 && !areAllDecoded) return [];
  if (rest.length === 0 && areAllDecoded) {
    const found = header ? 'found a header row and no other' : 'found an empty file';
    problems.add({ file: file.name, found, expected: 'a header row, then one row for each text' });
  }
  const columns = header && readHeader(header, names, file.name, problems);
  if (columns === undefined) return [];
  const rows = await mapWithPauses(rest, (line) => readRow(line, file.name, columns, rules, problems), signal);
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
  const isPermutation = columns.length === fieldNames.length && fieldNames.every((name) => columns.includes(name));
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

function splitLabels(written: string): readonly string[] {
  return written.trim() === '' ? [] : written.split(',').map((each) => each.trim());
}

const TRAIN_FILE = 'train.tsv';
const DEV_FILE = 'dev.tsv';

function archiveFiles({ kind, labels, train, dev }: ClassificationDataset, name: string) {
  const config = {
    DATASET_NAME: name,
    DATA_DIR: name,
    TRAIN_FILE,
    DEV_FILE,
    field_names: [TEXT_COLUMN, LABEL_COLUMN],
    field_header: 0,
    NUM_CLASS_LABELS: numClassLabels(kind, labels),
  };
  return {
    [CONFIG_FILE]: config,
    [LABEL_FILE]: Object.fromEntries(labels.entries()),
    [TRAIN_FILE]: fileOfRows(train),
    [DEV_FILE]: fileOfRows(dev),
  };
}

function fileOfRows(rows: readonly LabelledText[]): string {
  const lines = rows.map(({ text, labelIds }) => `${respaced(text)}\t${labelIds.join()}`);
  return [`${TEXT_COLUMN}\t${LABEL_COLUMN}`, ...lines, ''].join('\n');
}

/** The text as a table of an archive can hold it: tabs and line breaks become spaces. */
export function respaced(text: string): string {
  return text.replace(/\r\n|[\t\r\n]/g, ' ');
}
