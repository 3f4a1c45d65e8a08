import * as z from 'zod';
import { AbortedError, validate } from '../contract/index.js';
import {
  type CheckedRows,
  type Columns,
  columnsSchema,
  fieldsOf,
  invalid,
  type RowShape,
  type RowsOrPath,
  readRows,
} from '../datasets/index.js';
import { sentenceWithEntities } from '../families/index.js';
import type { ClassFigures, Confusion, Mistake } from '../models/index.js';
import { withPauses } from '../system/index.js';
import type { Answer } from './answers.js';
import { judge } from './judge.js';
import type { Model } from './model.js';

/** `model.evaluate`: reads examples, asks the model about each one, and compares the answers. */

/** Options of `evaluate`. */
export interface EvaluateOptions {
  /** The names of a file's columns. Default: the field names of rows. */
  readonly columns?: Columns | undefined;
  /** Number of bootstrap samples for the 95 % intervals, 100 to 100,000. Default 1,000. */
  readonly resamples?: number | undefined;
  /** Seed of the bootstrap. Default 0. */
  readonly seed?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Precision, recall and F1 over several classes, 0 to 1; 0 where the denominator is 0. */
export interface AverageFigures {
  readonly precision: number;
  readonly recall: number;
  readonly f1: number;
  /** Number of labels, or entities, in the examples. */
  readonly support: number;
}

/** Lower and upper bound of a 95 % bootstrap interval. */
export type Interval = readonly [low: number, high: number];

/** Averages over classes, named as in scikit-learn's and seqeval's reports. */
interface Averages {
  /** Over all decisions. */
  readonly micro: AverageFigures;
  /** The mean over classes, each with the same weight. */
  readonly macro: AverageFigures;
  /** The mean over classes, weighted by their support. */
  readonly weighted: AverageFigures;
}

/** The evaluation of a classifier, as in scikit-learn's `classification_report`. */
export interface LabelEvaluation extends Averages {
  readonly kind: 'labels';
  /** Number of examples. */
  readonly rows: number;
  /** Share of correct examples, 0 to 1. A multilabel example is correct if all its labels are. */
  readonly accuracy: number;
  /** Multilabel models only: the mean over examples. */
  readonly samples?: AverageFigures;
  /** Each label in the examples or the answers. For a multilabel model: every label. */
  readonly classes: readonly ClassFigures[];
  /** Absent for multilabel models. */
  readonly confusion?: Confusion;
  /** Expected calibration error of the scores: their distance from the share that is correct. 0 is perfect. */
  readonly calibrationError: number;
  /** 95 % intervals. */
  readonly intervals: {
    readonly accuracy: Interval;
    readonly microF1: Interval;
    readonly macroF1: Interval;
    readonly weightedF1: Interval;
  };
  /** The 50 most confident mistakes. */
  readonly mistakes: readonly Mistake[];
}

/** The evaluation of an entity model, as in seqeval's report: an entity is correct if its place and type are. */
export interface EntityEvaluation extends Averages {
  readonly kind: 'entities';
  /** Number of examples. */
  readonly rows: number;
  /** Each entity type in the examples or the answers. */
  readonly classes: readonly ClassFigures[];
  /** 95 % intervals. */
  readonly intervals: {
    readonly microF1: Interval;
    readonly macroF1: Interval;
    readonly weightedF1: Interval;
  };
  /** The 50 most confident mistakes. */
  readonly mistakes: readonly Mistake[];
}

/** The evaluation of a model that ranks passages: the rank of the first correct passage among the ten best. */
export interface PassageEvaluation {
  readonly kind: 'passages';
  /** Number of different questions. */
  readonly rows: number;
  /** Share of the questions with a correct passage in first place. */
  readonly top1: number;
  readonly top3: number;
  readonly top5: number;
  readonly top10: number;
  /** Mean reciprocal rank of the first correct passage; 0 beyond the tenth. */
  readonly mrr: number;
  /** Normalized discounted cumulative gain of the first ten (Järvelin & Kekäläinen 2002), with binary relevance. */
  readonly ndcg: number;
  /** 95 % intervals. */
  readonly intervals: {
    readonly top1: Interval;
    readonly mrr: Interval;
    readonly ndcg: Interval;
  };
  /** The 50 most confident mistakes. */
  readonly mistakes: readonly Mistake[];
}

/** How well a model does; `kind` tells which figures there are. */
export type Evaluation = LabelEvaluation | EntityEvaluation | PassageEvaluation;

const optionsSchema = z.strictObject({
  columns: columnsSchema.optional(),
  resamples: z.int().min(100).max(100_000).default(1000),
  seed: z.int32().default(0),
  signal: z.instanceof(AbortSignal).optional(),
});

/** @throws ValidationError, DatasetError, AbortedError, and any error of `model.predict` */
export async function evaluateModel(model: Model, rows: RowsOrPath, options: EvaluateOptions): Promise<Evaluation> {
  const { columns, signal, ...bootstrap } = validate(optionsSchema, options ?? {});
  const isMultilabel = model.type === 'multilabel-text-classification';
  const { checked, origin } = await readRows(rows, { option: 'rows', columns, isMultilabel, signal });
  const examples = examplesFor(model, checked, origin);
  const texts = examples.map(({ text }) => text);
  const answers = await answersTo(model, texts, signal);
  return withPauses(judge(model, examples, answers, bootstrap), signal);
}

/** A model's answers to texts, in their order. @throws AbortedError, and any error of `model.predict` */
export async function answersTo(
  model: Model,
  texts: readonly string[],
  signal: AbortSignal | undefined,
): Promise<readonly Answer[]> {
  const answers = await model.predict(texts, { signal });
  if (answers.isOk()) return answers.value;
  if (signal?.aborted) throw new AbortedError(`evaluating ${model.name}`, { cause: signal.reason });
  throw answers.error;
}

export type JudgedModel = Pick<Model, 'kind' | 'type' | 'name' | 'labels'>;

export interface Example {
  readonly text: string;
  readonly labels: readonly string[];
  readonly entities: readonly { readonly start: number; readonly end: number; readonly type: string }[];
  readonly passages: readonly string[];
}

/** The examples to ask a model about. @throws ValidationError if the rows don't fit the kind of model */
export function examplesFor(model: JudgedModel, checked: CheckedRows, origin: string): readonly Example[] {
  const { kind, name, type } = model;
  const isMultilabel = type === 'multilabel-text-classification';
  const fitting: Readonly<Record<typeof kind, { shapes: readonly RowShape[]; fields: string }>> = {
    labels: isMultilabel
      ? { shapes: ['label', 'labels'], fields: 'text and labels' }
      : { shapes: ['label'], fields: 'text and label' },
    entities: { shapes: ['tags', 'entities'], fields: 'tokens and tags, or text and entities' },
    passages: { shapes: ['passage', 'passages'], fields: 'question and passage' },
  };
  const { shapes, fields } = fitting[kind];
  if (!shapes.includes(checked.shape)) {
    const found = `${origin} has rows of ${fieldsOf(checked.shape)}`;
    throw invalid(['rows'], `${found}, but ${name} (${type}) is evaluated on rows of ${fields}`);
  }
  const examples = examplesOf(checked);
  return kind === 'passages' ? byQuestion(examples) : examples;
}

export function examplesOf(checked: CheckedRows): Example[] {
  const blank = { labels: [], entities: [], passages: [] };
  switch (checked.shape) {
    case 'label':
      return checked.rows.map(({ text, label }) => ({ ...blank, text, labels: [label] }));
    case 'labels':
      return checked.rows.map((row) => ({ ...blank, ...row }));
    case 'entities':
      return checked.rows.map((row) => ({ ...blank, ...row }));
    case 'tags':
      return checked.rows.map((row) => ({ ...blank, ...sentenceWithEntities(row) }));
    case 'passage':
      return checked.rows.map(({ question, passage }) => ({ ...blank, text: question, passages: [passage] }));
    case 'passages':
      return checked.rows.map(({ question, passages }) => ({ ...blank, text: question, passages }));
  }
}

/** A repeated question is asked once; all its passages answer it. */
function byQuestion(examples: readonly Example[]): Example[] {
  const merged = new Map<string, Example>();
  for (const example of examples) {
    const earlier = merged.get(example.text)?.passages ?? [];
    merged.set(example.text, { ...example, passages: [...earlier, ...example.passages] });
  }
  return [...merged.values()];
}
