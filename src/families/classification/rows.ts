import * as z from 'zod';
import {
  type ArchiveFile,
  type ArchiveFolder,
  arePairs,
  CONFIG_FILE,
  counted,
  type DatasetLocation,
  type DatasetWarning,
  findConfiguredFile,
  invalid,
  LABEL_FILE,
  type LabelledRow,
  MAX_LABELS,
  openArchive,
  ProblemList,
  placeOfField,
  placeOfRow,
  probableLabels,
  quoted,
  type RowTable,
  readArchiveConfig,
  readLabelIds,
  readLines,
  singleProblem,
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
  type RowSets,
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
  SUM_TOLERANCE,
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

interface WrittenRow extends DatasetLocation, Pick<LabelledText, 'text' | 'text2' | 'weight'> {
  readonly labels: readonly string[];
  /** By label. */
  readonly shares?: Readonly<Record<string, number>>;
}

/** How labels are written: as ids in an archive, by name in rows. */
interface LabelNotation {
  idOf(written: string): number | undefined;
  /** Number of labels. */
  readonly count: number;
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
    count: labels.length,
    noun: 'label id',
    expected: `an id of label_id.json (0 to ${labels.length - 1})${several}`,
  };
}

function nameNotation(labels: readonly string[]): LabelNotation {
  const ids = new Map(labels.map((label, id) => [label, id]));
  const expected = `one of ${quotedLabels(labels)}`;
  return { idOf: (written) => ids.get(written), count: labels.length, noun: 'label', expected };
}

interface RowRules {
  readonly kind: ClassificationKind;
  readonly columns: ColumnRoles & { readonly text2?: string };
  readonly notation: LabelNotation;
}

/** @returns the row with label ids, or undefined after adding at least one problem. */
function checkRow(row: WrittenRow, rules: RowRules, problems: ProblemList): LocatedRow | undefined {
  const { file, line, text, text2, weight } = row;
  const before = problems.total;
  const textProblem = findTextProblem(text);
  if (textProblem) problems.add({ file, line, column: rules.columns.text, ...textProblem });
  const problem2 = text2 === undefined ? undefined : findTextProblem(text2);
  if (problem2) problems.add({ file, line, column: rules.columns.text2 ?? 'text2', ...problem2 });
  const labelIds = checkLabels(row, rules, problems);
  const shares = row.shares && checkShares(row, row.shares, rules, problems);
  if (problems.total > before) return undefined;
  const more = { ...(text2 !== undefined && { text2 }), ...(shares && { shares }), ...(weight && { weight }) };
  return { text, ...more, labelIds, file, line };
}

/** @returns the probability of each label by its id; undefined if each is 0 or 1, which labels say alone */
function checkShares(
  { file, line }: WrittenRow,
  given: Readonly<Record<string, number>>,
  { kind, columns, notation }: RowRules,
  problems: ProblemList,
): readonly number[] | undefined {
  const column = columns.label;
  const shares = new Array<number>(notation.count).fill(0);
  for (const [label, share] of Object.entries(given)) {
    const id = notation.idOf(label);
    if (id !== undefined) shares[id] = share;
    else problems.add({ file, line, column, found: `found label ${quoted(label)}`, expected: notation.expected });
  }
  const sum = shares.reduce((total, share) => total + share, 0);
  if (kind !== 'multilabel' && Math.abs(sum - 1) > SUM_TOLERANCE) {
    const found = `found probabilities that add up to ${Number(sum.toFixed(4))}`;
    problems.add({ file, line, column, found, expected: `probabilities that add up to 1 for a ${kind} model` });
  }
  if (shares.every((share) => share === 0 || share === 1)) return undefined;
  return kind === 'multilabel' ? shares : shares.map((share) => share / sum);
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
      problems.add({ file, line, column, found: `found ${shown} twice`, expected: 'each label once' });
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
  const found = `found ${only.length === 0 ? 'no label on any row' : `only the label ${quotedLabels(only)}`}`;
  problems.add({ file, found, expected: `rows with at least ${counted(needed, 'label')}` });
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
  textOf: foldedText,
  answerOf: ({ labelIds }) => labelIds.join(),
  aside: ' (ignoring case and spacing)',
  conflict: 'the text of an earlier row but different labels',
};

/** Of both texts, if there are two. */
function foldedText({ text, text2 }: LocatedRow): string {
  return text2 === undefined ? foldText(text) : `${foldText(text)}\n${foldText(text2)}`;
}

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
    ...([...train, ...dev].some(({ text2 }) => text2 !== undefined) && { arePairs: true }),
    files: { train: train[0]?.file ?? '', dev: dev[0]?.file ?? '' },
    warnings: [
      ...(await comparisonWarnings({ train, dev }, comparison, signal)),
      ...classWarnings(labels, train, 'train'),
      ...classWarnings(labels, dev, 'dev'),
      ...nameWarnings(labels, [...train, ...dev]),
    ],
  };
}

function withoutFile({ file: _, ...row }: LocatedRow): LabelledText {
  return row;
}

function classWarnings(
  labels: readonly string[],
  split: readonly LocatedRow[],
  name: string,
): readonly DatasetWarning[] {
  const used = usedLabels(split);
  const missing = labels.filter((_, id) => !used.has(id));
  if (missing.length === 0) return [];
  const message = `no row of ${name} has ${missing.length === 1 ? 'the label' : 'any of the labels'} ${quotedLabels(missing)}`;
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
      `${odd.map(shown).join(', ')} ${odd.length === 1 ? 'is read as a label' : 'are read as labels'}; remove the rows that have no label`,
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
          text2: `${placeOfField(table, 0, 'text2').column}`,
          label: `${placeOfField(table, 0, table.checked.shape === 'label' ? 'label' : 'labels').column}`,
        };
        const rows = writtenRows(table, kind).map((row) => checkRow(row, { kind, columns, notation }, problems));
        return rows.filter((row) => row !== undefined);
      },
      keyOf: ({ text, text2, labelIds, shares, weight }) => {
        const key = `${text}\t${labelIds.join()}`;
        const more = [text2, shares, weight];
        return more.every((each) => each === undefined) ? key : JSON.stringify([key, ...more]);
      },
      splitKeysOf: (row) => ({ text: foldedText(row), labels: row.labelIds }),
      checkTrainable: (train) => {
        checkLabelCount(kind, labels, origin, problems);
        checkTrainable(kind, labels, train, origin, problems);
      },
    });
    const dataset = await datasetOf(kind, labels, splits, signal);
    const { descriptions } = sets;
    requireAlike(sets, descriptions);
    const given = { ...(isDevDrawn && { isDevDrawn }), ...(descriptions && { descriptions }) };
    return { dataset: { ...dataset, ...given }, leftOut };
  },
  fromNames(labels, descriptions, type) {
    const kind = classificationKind(type);
    const problems = new ProblemList();
    checkLabelCount(kind, labels, 'labels', problems);
    for (const label of labels) {
      if (descriptions[label] !== undefined || nameAsWords(label) !== undefined) continue;
      const found = `found the label ${quoted(label)}, a name without meaning`;
      problems.add({
        file: 'labels',
        found,
        expected: 'names in words, or an object that maps each label to what it means',
      });
    }
    if (problems.total > 0) throw problems.toError();
    return { kind, labels, descriptions, train: [], dev: [], warnings: [] };
  },
  write: archiveFiles,
};

/** @throws ValidationError for what pairs can't be learned from, and dev rows that are no pairs as the others are */
function requireAlike({ train, dev }: RowSets, descriptions: RowSets['descriptions']): void {
  const [ofTrain, ofDev] = [arePairs(train.checked), dev && arePairs(dev.checked)];
  if (ofDev !== undefined && ofTrain !== ofDev) {
    const found = ofTrain
      ? 'its rows have no text2, but the rows to train on have one'
      : 'its rows have a text2, but the rows to train on have none';
    throw invalid(['dev'], `${found}; give pairs of texts in both, or in neither`);
  }
  if (ofTrain && Object.keys(descriptions ?? {}).length > 0) {
    throw invalid(['labels'], "meanings of labels can't be used for pairs of texts; give only the names, as an array");
  }
}

/** With all labels that they name. */
function writtenRows(table: RowTable, kind: ClassificationKind): readonly WrittenRow[] {
  const { checked, origin: file } = table;
  const lineOf = (row: number) => placeOfRow(table, row).line;
  if (checked.shape === 'label') {
    return checked.rows.map(({ label, ...row }, at) => ({ file, line: lineOf(at), ...extrasOf(row), labels: [label] }));
  }
  if (checked.shape === 'labels') {
    return checked.rows.map((row, at) => ({ file, line: lineOf(at), ...extrasOf(row), labels: row.labels }));
  }
  if (checked.shape === 'soft') {
    return checked.rows.map((row, at) => {
      const labels = probableLabels(row, kind === 'multilabel');
      return { file, line: lineOf(at), ...extrasOf(row), labels, shares: row.labels };
    });
  }
  throw new TypeError(`rows of ${checked.shape} are not for text classification`);
}

function extrasOf({ text, text2, weight }: Pick<LabelledRow, 'text' | 'text2' | 'weight'>) {
  return { text, ...(text2 !== undefined && { text2 }), ...(weight !== undefined && { weight }) };
}

/** The distinct names of labels, sorted; as numbers if all of them are whole numbers. */
function namesIn(tables: readonly RowTable[]): readonly string[] {
  const all = new Set<string>();
  for (const table of tables) {
    for (const { labels, shares } of writtenRows(table, 'multilabel')) {
      for (const label of shares ? Object.keys(shares) : labels) all.add(label);
    }
  }
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
  const found = 'found only "1,0" and "0,1", which are the ids of both labels';
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
    const found = header ? 'found only a header row' : 'found an empty file';
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

/** @throws DatasetError for rows that archives have no place for */
function archiveFiles({ kind, labels, train, dev }: ClassificationDataset, name: string) {
  const extra = (['text2', 'weight', 'shares'] as const).find((field) => [...train, ...dev].some((row) => row[field]));
  if (extra !== undefined) {
    const found = { text2: 'a text2', weight: 'a weight', shares: 'probabilities of labels' }[extra];
    const expected =
      'rows with only a text and labels, since an archive has no place for more; give these rows to train directly';
    throw singleProblem({ file: 'rows', found: `found rows with ${found}`, expected });
  }
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
