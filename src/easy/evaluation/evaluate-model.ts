import * as z from 'zod';
import { validate } from '../../contract/index.js';
import { AbortedError } from '../../errors.js';
import { type Steps, withPauses } from '../../pauses.js';
import type { Answer } from '../answers.js';
import type { Model } from '../model.js';
import {
  type CheckedRows,
  type Columns,
  columnsSchema,
  fieldsOf,
  invalid,
  type RowsOrPath,
  readRows,
  sentenceWithEntities,
} from '../rows/index.js';
import type { BootstrapOptions } from './bootstrap.js';
import { entityEvaluation } from './entity-evaluation.js';
import type { Evaluation } from './evaluation.js';
import { labelEvaluation } from './label-evaluation.js';
import { passageEvaluation } from './passage-evaluation.js';

/** How examples are read, and intervals taken. */
export interface EvaluateOptions {
  /** What a file's columns are called. Default: as the fields of rows. */
  readonly columns?: Columns | undefined;
  /** How often the examples are drawn again for the 95 % intervals, 100 to 100,000. Default 1,000. */
  readonly resamples?: number | undefined;
  /** Decides the draws. Default 0. */
  readonly seed?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

const optionsSchema = z.strictObject({
  columns: columnsSchema.optional(),
  resamples: z.int().min(100).max(100_000).default(1000),
  seed: z.int32().default(0),
  signal: z.instanceof(AbortSignal).optional(),
});

const MULTILABEL = 'multilabel-text-classification';

/** @throws ValidationError, DatasetError, AbortedError, and what asking the model can fail with */
export async function evaluateModel(
  model: Model,
  rows: RowsOrPath,
  options: EvaluateOptions,
): Promise<Evaluation> {
  const { columns, signal, ...bootstrap } = validate(optionsSchema, options ?? {});
  const isMultilabel = model.type === MULTILABEL;
  const { checked, origin } = await readRows(rows, { option: 'rows', columns, isMultilabel, signal });
  const examples = examplesFor(model, checked, origin);
  const answers = await answersTo(
    model,
    examples.map(({ text }) => text),
    signal,
  );
  return withPauses(judge(model, examples, answers, bootstrap), signal);
}

/** A text to ask about, and what is right. */
interface Example {
  readonly text: string;
  readonly labels: readonly string[];
  readonly entities: readonly { readonly start: number; readonly end: number; readonly type: string }[];
  readonly passages: readonly string[];
}

const blank = { labels: [], entities: [], passages: [] };

/** @throws ValidationError for rows of another kind than the model's. */
function examplesFor(model: Model, checked: CheckedRows, origin: string): readonly Example[] {
  const { kind } = model;
  if (kind === 'labels') {
    if (checked.shape === 'label')
      return checked.rows.map(({ text, label }) => ({ ...blank, text, labels: [label] }));
    if (checked.shape === 'labels' && model.type === MULTILABEL)
      return checked.rows.map((row) => ({ ...blank, ...row }));
  }
  if (kind === 'entities') {
    if (checked.shape === 'entities') return checked.rows.map((row) => ({ ...blank, ...row }));
    if (checked.shape === 'tags')
      return checked.rows.map((row) => ({ ...blank, ...sentenceWithEntities(row) }));
  }
  if (kind === 'passages') {
    if (checked.shape === 'passage')
      return byQuestion(checked.rows.map(({ question, passage }) => ({ question, passages: [passage] })));
    if (checked.shape === 'passages') return byQuestion(checked.rows);
  }
  const fitting = {
    labels: labelFields(model),
    entities: 'tokens and tags, or text and entities',
    passages: 'question and passage',
  };
  throw invalid(
    ['rows'],
    `${origin} has rows of ${fieldsOf(checked.shape)}, but ${model.name} (${model.type}) is judged by rows of ${fitting[kind]}`,
  );
}

function labelFields({ type }: Model): string {
  return type === MULTILABEL ? 'text and labels' : 'text and label';
}

/** A question that is there several times is asked once; all its passages answer it. */
function byQuestion(
  rows: readonly { readonly question: string; readonly passages: readonly string[] }[],
): Example[] {
  const passages = new Map<string, string[]>();
  for (const row of rows)
    passages.set(row.question, [...(passages.get(row.question) ?? []), ...row.passages]);
  return [...passages].map(([text, answers]) => ({ ...blank, text, passages: answers }));
}

async function answersTo(
  model: Model,
  texts: readonly string[],
  signal: AbortSignal | undefined,
): Promise<readonly Answer[]> {
  const answers = await model.predict(texts, { signal });
  if (answers.isOk()) return answers.value;
  if (signal?.aborted) throw new AbortedError(`evaluating ${model.name}`, { cause: signal.reason });
  throw answers.error;
}

function judge(
  { kind, labels, type }: Model,
  examples: readonly Example[],
  answers: readonly Answer[],
  bootstrap: BootstrapOptions,
): Steps<Evaluation> {
  const pairs = examples.map((example, at) => ({ example, answer: answers[at] }));
  if (kind === 'labels') {
    const judged = pairs.flatMap(({ example: { text, labels: actual }, answer }) =>
      answer?.kind === 'labels' ? [{ text, actual, answer }] : [],
    );
    return labelEvaluation(judged, { labels, isMultilabel: type === MULTILABEL, ...bootstrap });
  }
  if (kind === 'entities') {
    const judged = pairs.flatMap(({ example: { text, entities: actual }, answer }) =>
      answer?.kind === 'entities' ? [{ text, actual, found: answer.entities }] : [],
    );
    return entityEvaluation(judged, bootstrap);
  }
  const judged = pairs.flatMap(({ example: { text: question, passages }, answer }) =>
    answer?.kind === 'passages' ? [{ question, answers: passages, ranked: answer.passages }] : [],
  );
  return passageEvaluation(judged, bootstrap);
}
