/** The rows that a model is trained and judged on. */
import * as z from 'zod';

/** A text with its one label. Two different labels in all make a binary classifier, more a multiclass one. */
export interface LabelledRow {
  readonly text: string;
  readonly label: string;
}

/** A text with any number of labels: a multilabel classifier. */
export interface MultilabelRow {
  readonly text: string;
  readonly labels: readonly string[];
}

/** A sentence in words, with a BIO tag for each: `O`, `B-…` or `I-…`. */
export interface TaggedRow {
  readonly tokens: readonly string[];
  readonly tags: readonly string[];
}

/** An entity of a text. `text.slice(start, end)` is what it says. */
export interface EntityRange {
  /** UTF-16 code units into the text. */
  readonly start: number;
  /** After its last UTF-16 code unit. */
  readonly end: number;
  readonly type: string;
}

/** A text with the places of its entities. */
export interface EntityRow {
  readonly text: string;
  readonly entities: readonly EntityRange[];
}

/** A question and the passage that answers it. */
export interface QuestionPassageRow {
  readonly question: string;
  readonly passage: string;
}

/** A question and the passages that answer it, each of them by itself. */
export interface QuestionPassagesRow {
  readonly question: string;
  readonly passages: readonly string[];
}

/** One example; all rows of a dataset have the same fields. */
export type TrainingRow =
  | LabelledRow
  | MultilabelRow
  | TaggedRow
  | EntityRow
  | QuestionPassageRow
  | QuestionPassagesRow;

/** Examples in memory, or as they come. */
export type Rows<Row extends TrainingRow = TrainingRow> = Iterable<Row> | AsyncIterable<Row>;

/** Examples, or the path of a CSV, TSV, JSON Lines or CoNLL file that has them. */
export type RowsOrPath<Row extends TrainingRow = TrainingRow> = Rows<Row> | string;

const text = z.string('give a string');
const texts = z.array(z.string('give a string'), 'give an array of strings');

const labelSchema = z.object({ text, label: text });
const labelsSchema = z.object({ text, labels: texts });
const taggedSchema = z
  .object({ tokens: texts, tags: texts })
  .refine(({ tokens, tags }) => tokens.length === tags.length, 'give as many tags as tokens');
const rangeSchema = z.object({ start: z.int().min(0), end: z.int(), type: text.min(1, 'give a type') });
const entitySchema = z.object({ text, entities: z.array(rangeSchema) }).superRefine((row, context) => {
  for (const [at, { start, end }] of row.entities.entries()) {
    const others = row.entities.slice(0, at);
    const path = ['entities', at];
    if (end <= start || end > row.text.length) {
      const message = `${start} to ${end} is no part of a text of ${row.text.length} UTF-16 code units`;
      context.addIssue({ code: 'custom', path, message });
    } else if (others.some((other) => other.start < end && start < other.end)) {
      context.addIssue({
        code: 'custom',
        path,
        message: 'it overlaps an earlier entity; keep one of the two',
      });
    }
  }
});
const passageSchema = z.object({ question: text, passage: text });
const passagesSchema = z.object({
  question: text,
  passages: texts.min(1, 'give at least one passage that answers the question'),
});

/** The fields that rows may have, by what they are made into. */
export const shapes = {
  label: { fields: ['text', 'label'], schema: labelSchema },
  labels: { fields: ['text', 'labels'], schema: labelsSchema },
  tags: { fields: ['tokens', 'tags'], schema: taggedSchema },
  entities: { fields: ['text', 'entities'], schema: entitySchema },
  passage: { fields: ['question', 'passage'], schema: passageSchema },
  passages: { fields: ['question', 'passages'], schema: passagesSchema },
} as const;

/** A kind of row, by the field that tells it from the others. */
export type RowShape = keyof typeof shapes;

/** Rows that were checked. */
export type CheckedRows =
  | { readonly shape: 'label'; readonly rows: readonly LabelledRow[] }
  | { readonly shape: 'labels'; readonly rows: readonly MultilabelRow[] }
  | { readonly shape: 'tags'; readonly rows: readonly TaggedRow[] }
  | { readonly shape: 'entities'; readonly rows: readonly EntityRow[] }
  | { readonly shape: 'passage'; readonly rows: readonly QuestionPassageRow[] }
  | { readonly shape: 'passages'; readonly rows: readonly QuestionPassagesRow[] };

/** One thing wrong with a row. */
export interface RowIssue {
  /** Position of the row, from 0. */
  readonly row: number;
  /** Where in the row. */
  readonly path: readonly (string | number)[];
  /** What is wrong, and what to do. */
  readonly message: string;
}

/** What became of rows: they are checked, or something is wrong with some. */
export interface CheckOutcome {
  readonly checked: CheckedRows;
  /** Of the first rows that have any. */
  readonly issues: readonly RowIssue[];
}

/** Most issues that are listed. */
const MAX_ISSUES = 100;

/** The shape that has these fields; undefined if none has. */
export function shapeOf(fields: ReadonlySet<string>): RowShape | undefined {
  const order: readonly RowShape[] = ['tags', 'entities', 'labels', 'label', 'passages', 'passage'];
  return order.find((shape) => shapes[shape].fields.every((field) => fields.has(field)));
}

/** What rows may look like, in words. */
export const KNOWN_SHAPES = Object.values(shapes)
  .map(({ fields }) => `{ ${fields.join(', ')} }`)
  .join(', ');

/** The rows that have the fields of a shape, and what is wrong with the others. */
export function checkRows(shape: RowShape, rows: readonly unknown[]): CheckOutcome {
  const issues: RowIssue[] = [];
  const parse = <Row>(schema: z.ZodType<Row>) => parsed(rows, schema, issues);
  switch (shape) {
    case 'label':
      return { checked: { shape, rows: parse(labelSchema) }, issues };
    case 'labels':
      return { checked: { shape, rows: parse(labelsSchema) }, issues };
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

function parsed<Row>(rows: readonly unknown[], schema: z.ZodType<Row>, issues: RowIssue[]): Row[] {
  const checked: Row[] = [];
  for (const [row, value] of rows.entries()) {
    const result = schema.safeParse(value);
    if (result.success) checked.push(result.data);
    else
      for (const { path, message } of result.error.issues)
        issues.push({ row, path: path.map(segment), message });
    if (issues.length >= MAX_ISSUES) break;
  }
  return checked;
}

function segment(part: PropertyKey): string | number {
  return typeof part === 'symbol' ? String(part) : part;
}
