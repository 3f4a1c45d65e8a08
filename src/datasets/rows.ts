import * as z from 'zod';
import { type DatasetProblem, ValidationError } from '../contract/index.js';
import { type DatasetWarning, quoted } from './problems.js';
import { isObject } from './records.js';

/** The rows that a model is trained and judged on. */

/** What rows of classifiers have. */
interface ClassifiedRow {
  readonly text: string;
  /** The second text of a pair, such as a question that may ask the same. All rows have one, or none has. */
  readonly text2?: string | undefined;
  /** How many times the row counts in training, above 0. Figures count each row once. Default 1. */
  readonly weight?: number | undefined;
}

/**
 * A text, or a pair of texts, with one label. Rows with two different labels train a binary classifier, rows with more
 * labels a multiclass classifier.
 */
export interface LabelledRow extends ClassifiedRow {
  readonly label: string;
}

/** A text, or a pair of texts, with any number of different labels. Such rows train a multilabel classifier. */
export interface MultilabelRow extends ClassifiedRow {
  readonly labels: readonly string[];
}

/**
 * A text, or a pair of texts, with the probability of each label, 0 to 1. Labels that are not named have the
 * probability 0. The probabilities add up to 1 within 0.001, unless the option `type` names a multilabel model.
 */
export interface SoftLabelRow extends ClassifiedRow {
  readonly labels: Readonly<Record<string, number>>;
}

/** A sentence as words, with a BIO tag for each word: `O`, `B-…` or `I-…`. */
export interface TaggedRow {
  readonly tokens: readonly string[];
  readonly tags: readonly string[];
}

/** An entity of a text: its words are `text.slice(start, end)`. */
export interface EntityRange {
  /** Offset of its first UTF-16 code unit, from 0. */
  readonly start: number;
  /** Offset after its last UTF-16 code unit. */
  readonly end: number;
  readonly type: string;
}

/** A part of a text, usually a word, whose tag is not certain. */
export interface TagDoubt {
  /** Offset of its first UTF-16 code unit, from 0. */
  readonly start: number;
  /** Offset after its last UTF-16 code unit. */
  readonly end: number;
  /** The probability of each BIO tag, `O`, `B-…` or `I-…`. The sum is 1 ± 0.02 and is scaled to 1. */
  readonly tags: Readonly<Record<string, number>>;
}

/** A text with its entities. */
export interface EntityRow {
  readonly text: string;
  readonly entities: readonly EntityRange[];
  /**
   * How probable tags are where they are not certain: the encoder learns these probabilities. A word has those of the part
   * that its first character is in. Figures compare only the entities. Default: all tags are certain.
   */
  readonly doubts?: readonly TagDoubt[] | undefined;
}

/** A question and the passage that answers it. */
export interface QuestionPassageRow {
  readonly question: string;
  readonly passage: string;
}

/** A question and several passages, each of which answers it. */
export interface QuestionPassagesRow {
  readonly question: string;
  readonly passages: readonly string[];
}

/** One row. All rows of a dataset have the same fields. */
export type TrainingRow =
  | LabelledRow
  | MultilabelRow
  | SoftLabelRow
  | TaggedRow
  | EntityRow
  | QuestionPassageRow
  | QuestionPassagesRow;

/** Rows: an array, or any other iterable or async iterable. */
export type Rows<Row extends TrainingRow = TrainingRow> = Iterable<Row> | AsyncIterable<Row>;

/** Rows, or the path of a file of rows (docs/files.md). */
export type RowsOrPath<Row extends TrainingRow = TrainingRow> = Rows<Row> | string;

const text = z.string('give a string');
const texts = z.array(z.string('give a string'), 'give an array of strings');

const weight = z
  .number('give a number above 0')
  .refine((value) => value !== 0, 'give a number above 0; to ignore the row, remove it')
  .refine((value) => value >= 0, 'give a number above 0')
  .optional();
const single = {
  text,
  text2: z.undefined('the first row has no text2; give all rows a text2, or none').optional(),
  weight,
};
const pair = { text2: text };
const share = z
  .number('give a probability from 0 to 1')
  .min(0, 'give a probability from 0 to 1')
  .max(1, 'give a probability from 0 to 1');
const shares = z
  .record(z.string(), share, 'give an object with the probability of each label')
  .refine((given) => Object.keys(given).length > 0, 'give at least one label');

const labelSchema = z.object({ ...single, label: text });
const labelsSchema = z.object({ ...single, labels: texts });
const softSchema = z.object({ ...single, labels: shares });

/** Rows of other models have none of it. */
const ofClassifiers = {
  text2: z.undefined('only rows of classifiers have a text2; leave text2 out').optional(),
  weight: z.undefined('only rows of classifiers have a weight; leave weight out').optional(),
};

const taggedSchema = z
  .object({ ...ofClassifiers, tokens: texts, tags: texts })
  .refine(({ tokens, tags }) => tokens.length === tags.length, 'give as many tags as tokens');
const rangeSchema = z.object(
  {
    start: z.int('give a whole number').min(0, 'give an offset of at least 0'),
    end: z.int('give a whole number'),
    type: text.min(1, 'give a type'),
  },
  'give { start, end, type }',
);
/** How far from 1 the sum of a doubt's probabilities may be. */
const DOUBT_TOLERANCE = 0.02;
const doubtSchema = z.object(
  {
    ...rangeSchema.pick({ start: true, end: true }).shape,
    tags: z
      .record(
        z.string().regex(/^(?:O|[BI]-.+)$/u),
        share,
        'give an object with the probabilities of BIO tags: O, B-… or I-…',
      )
      .refine(
        (tags) => Math.abs(Object.values(tags).reduce((sum, each) => sum + each, 0) - 1) <= DOUBT_TOLERANCE,
        'give probabilities that add up to 1',
      ),
  },
  'give { start, end, tags }',
);
const entitySchema = z
  .object({
    ...ofClassifiers,
    text,
    entities: z.array(rangeSchema, 'give an array of entities'),
    doubts: z.array(doubtSchema, 'give an array of doubts').optional(),
  })
  .superRefine((row, context) => {
    for (const [at, { start, end }] of (row.doubts ?? []).entries()) {
      if (end > start && end <= row.text.length) continue;
      const message = `${start} to ${end} is not a range in a text of ${row.text.length} UTF-16 code units`;
      context.addIssue({ code: 'custom', path: ['doubts', at], message });
    }
    for (const [at, { start, end }] of row.entities.entries()) {
      const others = row.entities.slice(0, at);
      const path = ['entities', at];
      if (end <= start || end > row.text.length) {
        const message = `${start} to ${end} is not a range in a text of ${row.text.length} UTF-16 code units`;
        context.addIssue({ code: 'custom', path, message });
      } else if (others.some((other) => other.start < end && start < other.end)) {
        context.addIssue({ code: 'custom', path, message: 'the entity overlaps an earlier one; keep one of the two' });
      }
    }
  });
const passageSchema = z.object({ ...ofClassifiers, question: text, passage: text });
const passagesSchema = z.object({
  ...ofClassifiers,
  question: text,
  passages: texts.min(1, 'give at least one passage that answers the question'),
});

/** The fields that make a shape. Labels with probabilities are an object. */
const shapes = {
  label: ['text', 'label'],
  labels: ['text', 'labels'],
  soft: ['text', 'labels'],
  tags: ['tokens', 'tags'],
  entities: ['text', 'entities'],
  passage: ['question', 'passage'],
  passages: ['question', 'passages'],
} as const;

export type RowShape = keyof typeof shapes;

export type CheckedRows =
  | { readonly shape: 'label'; readonly rows: readonly LabelledRow[] }
  | { readonly shape: 'labels'; readonly rows: readonly MultilabelRow[] }
  | { readonly shape: 'soft'; readonly rows: readonly SoftLabelRow[] }
  | { readonly shape: 'tags'; readonly rows: readonly TaggedRow[] }
  | { readonly shape: 'entities'; readonly rows: readonly EntityRow[] }
  | { readonly shape: 'passage'; readonly rows: readonly QuestionPassageRow[] }
  | { readonly shape: 'passages'; readonly rows: readonly QuestionPassagesRow[] };

/** Some of the rows, in their order. @param positions from 0 */
export function rowsAt(checked: CheckedRows, positions: ReadonlySet<number>): CheckedRows {
  const of = <Row>(rows: readonly Row[]): readonly Row[] => rows.filter((_, at) => positions.has(at));
  switch (checked.shape) {
    case 'label':
      return { shape: checked.shape, rows: of(checked.rows) };
    case 'labels':
      return { shape: checked.shape, rows: of(checked.rows) };
    case 'soft':
      return { shape: checked.shape, rows: of(checked.rows) };
    case 'tags':
      return { shape: checked.shape, rows: of(checked.rows) };
    case 'entities':
      return { shape: checked.shape, rows: of(checked.rows) };
    case 'passage':
      return { shape: checked.shape, rows: of(checked.rows) };
    case 'passages':
      return { shape: checked.shape, rows: of(checked.rows) };
  }
}

export interface RowIssue {
  /** Position of the row, from 0. */
  readonly row: number;
  readonly path: readonly (string | number)[];
  readonly message: string;
  readonly input: unknown;
}

const MAX_ISSUES = 100;

/** In the order in which they are tried: the first whose fields are all there is the shape of the rows. */
export const rowShapes: readonly RowShape[] = ['tags', 'entities', 'soft', 'labels', 'label', 'passages', 'passage'];

const KNOWN_SHAPES = [...new Set(Object.values(shapes).map((fields) => `{ ${fields.join(', ')} }`))].join(', ');

/** The fields that rows of a shape have, in words. */
export function fieldsOf(shape: RowShape): string {
  const fields = shapes[shape].join(' and ');
  return shape === 'soft' ? `${fields} with probabilities` : fields;
}

/** `the rows of test.csv`; rows in memory, whose origin is the option `rows`, are `the rows`. */
export function rowsOf(origin: string): string {
  return origin === 'rows' ? 'the rows' : `the rows of ${origin}`;
}

/** Whether rows have two texts. */
export function arePairs({ shape, rows: [first] }: CheckedRows): boolean {
  const isClassified = shape === 'label' || shape === 'labels' || shape === 'soft';
  return isClassified && first !== undefined && 'text2' in first && first.text2 !== undefined;
}

/** The label that a row counts as: the most probable one or, of a multilabel row, those that are at least as probable as not. */
export function probableLabels({ labels }: Pick<SoftLabelRow, 'labels'>, isMultilabel: boolean): readonly string[] {
  const all = Object.entries(labels);
  if (isMultilabel) return all.flatMap(([label, share]) => (share >= 0.5 ? [label] : []));
  const most = Math.max(...all.map(([, share]) => share));
  const first = all.flatMap(([label, share]) => (share === most ? [label] : [])).sort();
  return first.slice(0, 1);
}

export interface RowTable {
  readonly checked: CheckedRows;
  readonly origin: string;
  /** Where the rows of a file are. Rows in memory count from 1, and their columns are their fields. */
  readonly places?: RowPlaces;
  /** What a file was read as, in words: `CSV: 240 texts, 3 labels`. */
  readonly readAs?: string;
  /** What was noticed while reading. */
  readonly warnings?: readonly DatasetWarning[];
  /** The options for reading that its rows have a use for, such as `delimiter` and `columns.text`, given or not. */
  readonly uses?: readonly string[];
}

/** Where the rows of a file are, or the rows in memory that remain where some are left out. */
export interface RowPlaces {
  readonly lines: readonly number[];
  /** Rows in memory: how many were given. Their lines are their positions, from 1. */
  readonly given?: number;
  readonly columns: Readonly<Record<string, string>>;
  /** CoNLL: the line of each row's words. */
  readonly wordLines?: readonly (readonly number[])[];
}

type Place = Pick<DatasetProblem, 'file' | 'column'> & { readonly line: number };

/** Where a row is. @param row from 0 */
export function placeOfRow({ origin, places }: RowTable, row: number): Place {
  return { file: origin, line: places?.lines[row] ?? row + 1 };
}

/**
 * Where a caller finds a row: its position from 0, in memory among the rows as they were given and in a file among those
 * that were read, and its line in a file.
 */
export function rowPlace({ places }: RowTable, row: number): { readonly row: number; readonly line?: number } {
  const line = places?.lines[row];
  if (line === undefined) return { row };
  return places?.given === undefined ? { row, line } : { row: line - 1 };
}

/** Where a field of a row is. @param item of a list of words or tags */
export function placeOfField(table: RowTable, row: number, field: string, item?: number): Place {
  const { places } = table;
  const place = placeOfRow(table, row);
  if (places?.wordLines) return { ...place, line: places.wordLines[row]?.[item ?? 0] ?? place.line };
  const column = places?.columns[field] ?? field;
  return { ...place, column: item === undefined ? column : `${column}[${item}]` };
}

/** @throws ValidationError for what has the fields of no shape. @param option what the rows were given as */
export function shapeOfFirst(first: unknown, option: string): RowShape {
  if (first === undefined) throw invalid([option], 'there are no rows');
  const row = isObject(first) ? first : {};
  const fields = Object.keys(row);
  const shape = rowShapes.find((each) => shapes[each].every((field) => fields.includes(field)));
  if (shape === 'soft') return isObject(row.labels) ? shape : 'labels';
  if (shape !== undefined) return shape;
  const named = `the ${fields.length === 1 ? 'field' : 'fields'} ${fields.join(', ')}`;
  const found = fields.length > 0 ? named : quoted(first);
  throw invalid([option, 0], `found ${found}; give rows with the fields of one of ${KNOWN_SHAPES}`);
}

export function invalid(loc: readonly (string | number)[], msg: string): ValidationError {
  return new ValidationError([{ loc, msg, type: 'invalid_option' }]);
}

interface RowChecks {
  /** Issues after which the rest is not looked at. Default 100. */
  readonly most?: number;
  /** Whether a blank text or label and a repeated label are issues, too. Default: they are left to the family. */
  readonly isStrict?: boolean;
}

/** The rows that have the fields of a shape, and what is wrong with the others. */
export function checkRows(
  shape: RowShape,
  rows: readonly unknown[],
  checks: RowChecks = {},
): { checked: CheckedRows; issues: readonly RowIssue[] } {
  const issues: RowIssue[] = [];
  const parse = <Row extends object>(schema: z.ZodType<Row>): Row[] =>
    parsed(rows, schema, issues, { ...checks, fields: [...shapes[shape], 'text2'] });
  const [first] = rows;
  const isPair = typeof first === 'object' && first !== null && 'text2' in first && first.text2 !== undefined;
  switch (shape) {
    case 'label':
      return { checked: { shape, rows: parse<LabelledRow>(isPair ? labelSchema.extend(pair) : labelSchema) }, issues };
    case 'labels':
      return {
        checked: { shape, rows: parse<MultilabelRow>(isPair ? labelsSchema.extend(pair) : labelsSchema) },
        issues,
      };
    case 'soft':
      return { checked: { shape, rows: parse<SoftLabelRow>(isPair ? softSchema.extend(pair) : softSchema) }, issues };
    case 'tags':
      return { checked: { shape, rows: parse(taggedSchema) }, issues };
    case 'entities':
      return { checked: { shape, rows: parse(entitySchema) }, issues };
    case 'passage':
      return { checked: { shape, rows: parse(passageSchema) }, issues };
    case 'passages':
      return { checked: { shape, rows: parse(passagesSchema) }, issues };
  }
}

function parsed<Row extends object>(
  rows: readonly unknown[],
  schema: z.ZodType<Row>,
  issues: RowIssue[],
  { most = MAX_ISSUES, isStrict = false, fields }: RowChecks & { readonly fields: readonly string[] },
): Row[] {
  const checked: Row[] = [];
  for (const [row, value] of rows.entries()) {
    const result = schema.safeParse(value, { reportInput: true, error: ofNoObject });
    if (result.success) {
      const flaw = isStrict ? flawOf(result.data, fields) : undefined;
      if (flaw === undefined) checked.push(result.data);
      else issues.push({ row, ...flaw });
    } else
      for (const { path, message, input } of result.error.issues)
        issues.push({ row, path: path.map(segment), message, input });
    if (issues.length >= most) break;
  }
  return checked;
}

const isBlank = (value: unknown): boolean => typeof value === 'string' && value.trim() === '';

/** The first blank text or label of a row, or label that repeats an earlier one. */
function flawOf(row: object, fields: readonly string[]): Omit<RowIssue, 'row'> | undefined {
  for (const [field, input] of Object.entries(row)) {
    if (!fields.includes(field)) continue;
    if (isBlank(input)) return { path: [field], message: `give a ${field} that is not blank`, input };
    const labels: readonly unknown[] = field === 'labels' && Array.isArray(input) ? input : [];
    const at = labels.findIndex((label, place) => isBlank(label) || labels.indexOf(label) < place);
    if (at < 0) continue;
    const message = isBlank(labels[at]) ? 'give a label that is not blank' : 'give each label once';
    return { path: [field, at], message, input: labels[at] };
  }
  return undefined;
}

/** Of a row that is no object. What its fields lack is in their schemas. */
function ofNoObject({ code, expected }: { readonly code?: string; readonly expected?: unknown }): string | undefined {
  return code === 'invalid_type' && expected === 'object' ? 'give an object' : undefined;
}

function segment(part: PropertyKey): string | number {
  return typeof part === 'symbol' ? String(part) : part;
}
