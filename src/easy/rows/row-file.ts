/** Files of rows: which columns hold what, and what the rows are. */
import { stat } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import * as z from 'zod';
import { counted, ProblemList, quoted, singleProblem, someOf } from '../../datasets/index.js';
import {
  type ConllFile,
  type QuestionFile,
  readLabelledTexts,
  readQuestions,
  readRecords,
  readSentences,
  recordColumns,
  type SourceFile,
} from '../../families/index.js';
import { type RowShape, shapes } from './training-row.js';

/** What the columns of a file are called, where it isn't what the rows' fields are called. */
export interface Columns {
  /** Default: `text`, else `sentence`, `content`, `review` or `utterance`. */
  readonly text?: string | undefined;
  /** Default: `label`, else `category`, `class`, `intent` or `sentiment`. */
  readonly label?: string | undefined;
  /** Default: `question`, else `query`. */
  readonly question?: string | undefined;
  /** Default: `passage`, else `context` or `answer`. */
  readonly passage?: string | undefined;
}

const column = z.string().min(1, 'the name of the column is empty').optional();

export const columnsSchema: z.ZodType<Columns> = z.strictObject({
  text: column,
  label: column,
  question: column,
  passage: column,
});

/** What a file's rows are. */
export interface FileRows {
  readonly shape: RowShape;
  /** As the file has them: not checked. */
  readonly rows: readonly unknown[];
  /** The line of each row. */
  readonly lines: readonly number[];
  /** For the makers of archives; absent where none of them reads such a file. */
  readonly source?:
    | { readonly kind: 'texts'; readonly file: SourceFile }
    | { readonly kind: 'sentences'; readonly file: ConllFile }
    | { readonly kind: 'questions'; readonly file: QuestionFile };
}

export interface FileReading {
  readonly columns?: Columns | undefined;
  readonly isMultilabel?: boolean | undefined;
  readonly option: string;
}

/** The names that columns go by, the first that a file has being taken. */
const names = {
  text: ['text', 'sentence', 'content', 'review', 'utterance'],
  label: ['label', 'category', 'class', 'intent', 'sentiment'],
  labels: ['labels'],
  question: ['question', 'query'],
  passage: ['passage', 'context', 'answer'],
  passages: ['passages'],
  tokens: ['tokens', 'words'],
  tags: ['tags', 'ner_tags'],
  entities: ['entities', 'spans'],
} as const;
type Field = keyof typeof names;

const CONLL_ENDINGS = ['conll', 'bio', 'iob', 'iob2', 'txt'];
const TABLE_ENDINGS = ['csv', 'tsv', 'jsonl', 'ndjson', 'json'];

/** Whether a file's name says that it has rows. */
export function isRowFile(path: string): boolean {
  return [...CONLL_ENDINGS, ...TABLE_ENDINGS].includes(endingOf(path));
}

function endingOf(path: string): string {
  return extname(path).slice(1).toLowerCase();
}

/** @throws DatasetError with every problem that a reader found. */
export async function readRowFile(path: string, reading: FileReading): Promise<FileRows> {
  await requireFile(path);
  const problems = new ProblemList();
  const rows = CONLL_ENDINGS.includes(endingOf(path))
    ? await conllRows(path, problems)
    : await tableRows(path, reading, problems);
  if (problems.total > 0) throw problems.toError();
  if (rows.rows.length > 0) return rows;
  throw singleProblem({ file: basename(path), found: 'found no rows', expected: 'at least one row' });
}

async function requireFile(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile()) return;
  const what = found === undefined ? 'found no such file' : 'found no file';
  const expected = `a file of rows: ${[...TABLE_ENDINGS, ...CONLL_ENDINGS].map((ending) => `.${ending}`).join(', ')}`;
  throw singleProblem({ file: path, found: what, expected });
}

async function conllRows(path: string, problems: ProblemList): Promise<FileRows> {
  const file: ConllFile = { path };
  const { sentences } = await readSentences(file, basename(path), problems);
  return {
    shape: 'tags',
    rows: sentences.map(({ words, tags }) => ({ tokens: words, tags })),
    lines: sentences.map(({ line }) => line),
    source: { kind: 'sentences', file },
  };
}

async function tableRows(path: string, reading: FileReading, problems: ProblemList): Promise<FileRows> {
  const present = new Set(await recordColumns({ path }));
  const { columns } = reading;
  const find = (field: Field) => {
    const given = field === 'text' || field === 'label' || field === 'question' || field === 'passage';
    const asked = given ? columns?.[field] : undefined;
    return asked ?? names[field].find((name) => present.has(name));
  };
  const shape = shapeIn(path, present, find, columns);
  const [first, second] = shapes[shape].fields;
  const columnsOf = [find(first) ?? first, find(second) ?? second] as const;
  if (shape === 'label' || shape === 'labels') return textRows(path, shape, columnsOf, reading, problems);
  if (shape === 'passage') return questionRows(path, columnsOf, problems);
  const records = await readRecords({ path }, columnsOf, problems);
  return {
    shape,
    rows: records.map(({ values }) => ({ [first]: values[0], [second]: values[1] })),
    lines: records.map(({ line }) => line),
  };
}

/** @throws DatasetError where the columns are those of no shape. */
function shapeIn(
  path: string,
  present: ReadonlySet<string>,
  find: (field: Field) => string | undefined,
  columns: Columns | undefined,
): RowShape {
  const order: readonly RowShape[] =
    columns?.question !== undefined || columns?.passage !== undefined
      ? ['passage']
      : columns?.label !== undefined
        ? ['label']
        : ['tags', 'entities', 'labels', 'label', 'passages', 'passage'];
  const shape = order.find((each) => shapes[each].fields.every((field) => present.has(find(field) ?? '')));
  if (shape !== undefined) return shape;
  const listed = someOf([...present].map((name) => quoted(name)));
  const found =
    present.size === 0 ? 'found no columns' : `found ${counted(present.size, 'column')}: ${listed}`;
  const expected =
    "the columns text and label, text and labels, question and passage, tokens and tags, or text and entities; or the option columns, such as { text: 'review', label: 'stars' }";
  throw singleProblem({ file: basename(path), found, expected });
}

async function textRows(
  path: string,
  shape: 'label' | 'labels',
  [textColumn, labelColumn]: readonly [string, string],
  { isMultilabel }: FileReading,
  problems: ProblemList,
): Promise<FileRows> {
  const file: SourceFile = { path, textColumn, labelColumn };
  const kind = (isMultilabel ?? shape === 'labels') ? 'multilabel' : 'multiclass';
  const { rows } = await readLabelledTexts(file, basename(path), kind, problems);
  const lines = rows.map(({ line }) => line);
  const source = { kind: 'texts', file } as const;
  const isSingle = kind === 'multiclass' && rows.every(({ labels }) => labels.length === 1);
  return isSingle
    ? { shape: 'label', rows: rows.map(({ text, labels: [label] }) => ({ text, label })), lines, source }
    : { shape: 'labels', rows: rows.map(({ text, labels }) => ({ text, labels })), lines, source };
}

async function questionRows(
  path: string,
  [questionColumn, contextColumn]: readonly [string, string],
  problems: ProblemList,
): Promise<FileRows> {
  const file: QuestionFile = { path, questionColumn, contextColumn };
  const { questions } = await readQuestions(file, basename(path), problems);
  return {
    shape: 'passage',
    rows: questions.map(({ question, context }) => ({ question, passage: context })),
    lines: questions.map(({ line }) => line),
    source: { kind: 'questions', file },
  };
}
