import * as z from 'zod';
import { AbortedError, requireOptions, signalSchema, validate } from '../contract/index.js';
import {
  arePairs,
  type CheckedRows,
  type DatasetWarning,
  fieldsOf,
  invalid,
  probableLabels,
  type ReadingOptions,
  type RowShape,
  type RowsOrPath,
  readingShape,
  requireUsedReading,
  rowsOf,
} from '../datasets/index.js';
import {
  accuracyInterval,
  confusionOf,
  expectedCalibrationError,
  figuresOf,
  foldLabel,
  labelMistake,
  sentenceWithEntities,
  share,
} from '../families/index.js';
import { type ClassFigures, type Confusion, listedMistakes, type Mistake } from '../models/index.js';
import { mapSteps, mapWithPauses, Random, type Steps, withPauses } from '../system/index.js';
import type { Answer, EntityAnswer, LabelAnswer, PassageAnswer } from './answers.js';
import type { Model, ModelText } from './model.js';
import { requirePositive } from './training/prepare-dataset.js';
import { readTable } from './training/read-apart.js';

/** `model.evaluate`: reads examples, asks the model about each one, and compares the answers. */

/** Options of `evaluate`. */
export interface EvaluateOptions extends ReadingOptions {
  /** Classifiers with two labels: the label whose figures are also reported as `positive`. Default: none. */
  readonly positive?: string | undefined;
  /** Whether the rules of the model apply, if it has any. Default true. */
  readonly rules?: boolean | undefined;
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
  /** Number of labels, or entities, in the rows. */
  readonly support: number;
}

/**
 * Lower and upper bound of a 95 % interval: a bootstrap interval, or Wilson's if all bootstrap samples give 0 or all
 * give 1.
 */
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

/** What was noticed in the examples. */
interface Noticed {
  /** Such as the rows that `skipInvalid` left out. Absent if there is nothing to say. */
  readonly warnings?: readonly DatasetWarning[];
}

/** The evaluation of a classifier, as in scikit-learn's `classification_report`. */
export interface LabelEvaluation extends Averages, UnknownNames, Noticed {
  readonly kind: 'labels';
  /** Number of rows. */
  readonly rows: number;
  /** Share of correct rows, 0 to 1. A multilabel row is correct if all its labels are. */
  readonly accuracy: number;
  /** Multilabel models only: the mean over the rows. */
  readonly samples?: AverageFigures;
  /** Each label in the rows or the answers. For a multilabel model: every label. */
  readonly classes: readonly ClassFigures[];
  /** The figures of the label that was given as the option `positive`. Absent without it. */
  readonly positive?: ClassFigures;
  /** How often each label was predicted for each actual label. Absent for multilabel models. */
  readonly confusion?: Confusion;
  /** Expected calibration error of the scores: their distance from the share that is correct. 0 is perfect. */
  readonly calibrationError: number;
  /** 95 % intervals. */
  readonly intervals: {
    readonly accuracy: Interval;
    readonly microF1: Interval;
    readonly macroF1: Interval;
    readonly weightedF1: Interval;
    /** Of the label that was given as the option `positive`. */
    readonly positiveF1?: Interval;
  };
  /** The 50 most confident mistakes. */
  readonly mistakes: readonly Mistake[];
}

/** What an evaluation says of labels, or entity types, that only the examples have. Both are absent if there are none. */
interface UnknownNames {
  /** Labels of examples that the model doesn't have; they count as wrong. */
  readonly unknownLabels?: readonly UnknownLabel[];
  /** The labels that it has. */
  readonly modelLabels?: readonly string[];
}

/** A label of the rows that the model doesn't have. */
export interface UnknownLabel {
  readonly label: string;
  /** Number of rows that have it. */
  readonly rows: number;
  /** The model's label that differs only in case, spaces or Unicode form, if there is one. */
  readonly similarTo?: string;
}

/** The evaluation of an entity model, as in seqeval's report: an entity is correct if its offsets and type are. */
export interface EntityEvaluation extends Averages, UnknownNames, Noticed {
  readonly kind: 'entities';
  /** Number of rows. */
  readonly rows: number;
  /** Each entity type in the rows or the answers. */
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
export interface PassageEvaluation extends Noticed {
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

/** How well a model performs; `kind` says which figures there are. */
export type Evaluation = LabelEvaluation | EntityEvaluation | PassageEvaluation;

/** The result of `evaluate` of a model with answers of this type. */
export type EvaluationOf<Given extends Answer> = Given extends LabelAnswer
  ? LabelEvaluation
  : Given extends EntityAnswer
    ? EntityEvaluation
    : PassageEvaluation;

const optionsSchema = z.strictObject({
  ...readingShape,
  positive: z.string().optional(),
  rules: z.boolean().optional(),
  resamples: z.int().min(100).max(100_000).default(1000),
  seed: z.int32().default(0),
  signal: signalSchema.optional(),
});

interface ReadElsewhere {
  /** Whether other rows than these were read with the same options, which may be of use only there. Default false. */
  readonly isReadElsewhere?: boolean;
}

/** @throws ValidationError, DatasetError, AbortedError, and any error of `model.predict` */
export async function evaluateModel(
  model: Model,
  rows: RowsOrPath,
  options: EvaluateOptions,
  { isReadElsewhere = false }: ReadElsewhere = {},
): Promise<Evaluation> {
  const { positive, rules, resamples, seed, signal, ...reading } = validate(
    optionsSchema,
    requireOptions(options ?? {}, '`evaluate(rows, { positive })`'),
  );
  requirePositive(positive, model.type, model.labels);
  const isMultilabel = model.type === 'multilabel-text-classification';
  const table = await readTable({ ...{ rows, option: 'rows', reading, isMultilabel, signal }, isStrict: true });
  if (!isReadElsewhere) requireUsedReading([table], reading);
  const { checked, origin } = table;
  const examples = await examplesFor(model, checked, origin, signal);
  requireReadable(model, checked, origin);
  const answers = await answersTo(model, examples.map(askedOf), { rules, signal });
  const judged = await withPauses(judge(model, examples, answers, { resamples, seed, positive }), signal);
  return table.warnings === undefined ? judged : { ...judged, warnings: table.warnings };
}

/** What a model is asked of a row. */
export function askedOf({ text, text2 }: Pick<Example, 'text' | 'text2'>): ModelText {
  return text2 === undefined ? text : { text, text2 };
}

/** Equal for rows with the same texts. */
export function keyOfTexts({ text, text2 }: Pick<Example, 'text' | 'text2'>): string {
  return text2 === undefined ? text : JSON.stringify([text, text2]);
}

/** @throws ValidationError for pairs where the model reads single texts, and the reverse */
function requireReadable({ name, readsPairs }: Model, checked: CheckedRows, origin: string): void {
  if (checked.rows.length === 0 || arePairs(checked) === readsPairs) return;
  const [reads, has] = readsPairs ? ['pairs of texts', 'no text2'] : ['single texts', 'a text2'];
  const remedy = readsPairs ? 'give each row a text and a text2' : 'leave text2 out';
  throw invalid(['rows'], `${name} reads ${reads}, but ${rowsOf(origin)} have ${has}; ${remedy}`);
}

/** A model's answers to texts, in their order. @throws AbortedError, and any error of `model.predict` */
export async function answersTo(
  model: Model,
  texts: readonly ModelText[],
  { rules, signal }: { readonly rules?: boolean | undefined; readonly signal: AbortSignal | undefined },
): Promise<readonly Answer[]> {
  const answers = await model.predict(texts, { rules, signal });
  if (answers.isOk()) return answers.value;
  if (signal?.aborted) throw new AbortedError(`evaluating ${model.name}`, { cause: signal.reason });
  throw answers.error;
}

export type JudgedModel = Pick<Model, 'kind' | 'type' | 'name' | 'labels'>;

export interface Example {
  readonly text: string;
  /** Of a pair. */
  readonly text2?: string | undefined;
  /** Whether the row has probabilities; its labels are the probable ones. */
  readonly isSoft?: boolean;
  readonly labels: readonly string[];
  readonly entities: readonly { readonly start: number; readonly end: number; readonly type: string }[];
  readonly passages: readonly string[];
}

/** The examples to ask a model about. @throws ValidationError if the rows don't fit the kind of model */
export async function examplesFor(
  model: JudgedModel,
  checked: CheckedRows,
  origin: string,
  signal?: AbortSignal,
): Promise<readonly Example[]> {
  const { kind, name, type } = model;
  const isMultilabel = type === 'multilabel-text-classification';
  const fitting: Readonly<Record<typeof kind, { shapes: readonly RowShape[]; fields: string }>> = {
    labels: isMultilabel
      ? { shapes: ['label', 'labels', 'soft'], fields: 'text and labels' }
      : { shapes: ['label', 'soft'], fields: 'text and label' },
    entities: { shapes: ['tags', 'entities'], fields: 'tokens and tags, or text and entities' },
    passages: { shapes: ['passage', 'passages'], fields: 'question and passage' },
  };
  const { shapes, fields } = fitting[kind];
  if (!shapes.includes(checked.shape)) {
    const found = `${rowsOf(origin)} have the fields ${fieldsOf(checked.shape)}`;
    throw invalid(['rows'], `${found}, but ${name} (${type}) needs ${fields}`);
  }
  const examples = await examplesOf(checked, signal, isMultilabel);
  return kind === 'passages' ? byQuestion(examples) : examples;
}

/** @param isMultilabel whether a row with probabilities may count as several labels */
export function examplesOf(checked: CheckedRows, signal?: AbortSignal, isMultilabel = false): Promise<Example[]> {
  const blank = { labels: [], entities: [], passages: [] };
  const each = <Row>(rows: readonly Row[], exampleOf: (row: Row) => Example) => mapWithPauses(rows, exampleOf, signal);
  switch (checked.shape) {
    case 'label':
      return each(checked.rows, ({ label, ...row }) => ({ ...blank, ...textsOf(row), labels: [label] }));
    case 'labels':
      return each(checked.rows, ({ labels, ...row }) => ({ ...blank, ...textsOf(row), labels }));
    case 'soft':
      return each(checked.rows, (row) => {
        return { ...blank, ...textsOf(row), labels: probableLabels(row, isMultilabel), isSoft: true };
      });
    case 'entities':
      return each(checked.rows, (row) => ({ ...blank, ...row }));
    case 'tags':
      return each(checked.rows, (row) => ({ ...blank, ...sentenceWithEntities(row) }));
    case 'passage':
      return each(checked.rows, ({ question, passage }) => ({ ...blank, text: question, passages: [passage] }));
    case 'passages':
      return each(checked.rows, ({ question, passages }) => ({ ...blank, text: question, passages }));
  }
}

function textsOf({ text, text2 }: Pick<Example, 'text' | 'text2'>): Pick<Example, 'text' | 'text2'> {
  return { text, ...(text2 !== undefined && { text2 }) };
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

export interface BootstrapOptions {
  readonly resamples: number;
  readonly seed: number;
}

interface Judged<Given extends Answer> {
  readonly example: Example;
  readonly answer: Given;
}

export interface JudgeOptions extends BootstrapOptions {
  readonly positive?: string | undefined;
}

/** @param answers in the order of the examples; examples without an answer are left out */
export function judge(
  model: JudgedModel,
  examples: readonly Example[],
  answers: readonly (Answer | undefined)[],
  options: JudgeOptions,
): Steps<Evaluation> {
  switch (model.kind) {
    case 'labels':
      return labelEvaluation(model, answered('labels', examples, answers), options);
    case 'entities':
      return entityEvaluation(model, answered('entities', examples, answers), options);
    case 'passages':
      return passageEvaluation(answered('passages', examples, answers), options);
  }
}

function answered<Kind extends Answer['kind']>(
  kind: Kind,
  examples: readonly Example[],
  answers: readonly (Answer | undefined)[],
): Judged<Extract<Answer, { kind: Kind }>>[] {
  const isOfKind = (answer: Answer | undefined): answer is Extract<Answer, { kind: Kind }> => answer?.kind === kind;
  return examples.flatMap((example, at) => {
    const answer = answers[at];
    return isOfKind(answer) ? [{ example, answer }] : [];
  });
}

/** The figures of a classifier, as in scikit-learn's `classification_report` and `accuracy_score`. */
function* labelEvaluation(
  { labels, type }: JudgedModel,
  rows: readonly Judged<LabelAnswer>[],
  { positive, ...options }: JudgeOptions,
): Steps<LabelEvaluation> {
  const isMultilabel = type === 'multilabel-text-classification';
  const names = [...new Set([...labels, ...(yield* flatMapSteps(rows, ({ example }) => example.labels))])];
  const ids = new Map(names.map((name, id) => [name, id]));
  const idsOf = (given: readonly string[]) => given.map((name) => ids.get(name) ?? -1);
  const decisions = yield* mapSteps(rows, ({ example, answer }): Decisions => {
    const [actual, predicted] = [idsOf(example.labels), idsOf(answer.labels)];
    return {
      right: predicted.filter((label) => actual.includes(label)),
      wrong: predicted.filter((label) => !actual.includes(label)),
      missed: actual.filter((label) => !predicted.includes(label)),
    };
  });
  const figuresOfLabel = (label: string, times?: Int32Array): ClassFigures => {
    const { classes } = classFigures(decisions, names, { ...(times && { times }), keepsAll: true });
    return classes.find((each) => each.label === label) ?? { label, ...figuresOf(0, 0, 0) };
  };
  const intervalOf = yield* bootstrap(
    rows.length,
    (times) => ({
      accuracy: accuracyOf(decisions, times),
      ...averageF1(decisions, names, times),
      positiveF1: positive === undefined ? 0 : figuresOfLabel(positive, times).f1,
    }),
    options,
  );
  const figures = classFigures(decisions, names, { keepsAll: isMultilabel });
  const positiveFigures = positive === undefined ? undefined : figuresOfLabel(positive);
  const unknown = yield* unknownNames(labels, rows, ({ example }) => example.labels);
  const occurring = figures.classes.map(({ label }) => label);
  return {
    kind: 'labels',
    rows: rows.length,
    accuracy: accuracyOf(decisions),
    ...figures,
    ...(positiveFigures && { positive: positiveFigures }),
    ...(isMultilabel
      ? { samples: samplesOf(decisions) }
      : {
          confusion: confusionOf(
            occurring,
            rows.map(({ example, answer }) => ({ actual: example.labels, predicted: [answer.label] })),
          ),
        }),
    calibrationError: expectedCalibrationError(yield* flatMapSteps(rows, (row) => confidences(row, isMultilabel))),
    intervals: {
      accuracy: intervalOf('accuracy'),
      microF1: intervalOf('microF1'),
      macroF1: intervalOf('macroF1'),
      weightedF1: intervalOf('weightedF1'),
      ...(positiveFigures && { positiveF1: intervalOf('positiveF1', positiveFigures.support) }),
    },
    mistakes: listedMistakes(
      yield* flatMapSteps(rows, ({ example, answer }) => {
        const scores = new Map(answer.scores.map(({ label, score }) => [label, score]));
        const judged = { ...textsOf(example), actual: example.labels, predicted: answer.labels };
        return labelMistake(judged, (label) => scores.get(label) ?? 0);
      }),
    ),
    ...unknown,
  };
}

function* unknownNames<Row>(
  known: readonly string[],
  rows: readonly Row[],
  namesOf: (row: Row) => readonly string[],
): Steps<UnknownNames> {
  const counts = new Map<string, number>();
  for (const row of rows) {
    yield;
    for (const name of new Set(namesOf(row))) if (!known.includes(name)) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const unknownLabels = [...counts].map(([label, count]) => {
    const similarTo = known.find((each) => foldLabel(each) === foldLabel(label));
    return { label, rows: count, ...(similarTo !== undefined && { similarTo }) };
  });
  return unknownLabels.length === 0 ? {} : { unknownLabels, modelLabels: [...known] };
}

/** @param times how often each row counts. Default: once. [rows] */
function accuracyOf(decisions: readonly Decisions[], times?: Int32Array): number {
  let right = 0;
  for (const [at, { wrong, missed }] of decisions.entries()) {
    if (wrong.length + missed.length === 0) right += times?.[at] ?? 1;
  }
  return share(right, decisions.length);
}

function samplesOf(decisions: readonly Decisions[]): AverageFigures {
  const each = decisions.map(({ right, wrong, missed }) => figuresOf(right.length, wrong.length, missed.length));
  return meanOf(each, () => 1);
}

/** The confidence of each decision: one for a row, or one for each label of a multilabel model. */
function confidences({ example, answer }: Judged<LabelAnswer>, isMultilabel: boolean) {
  const { labels } = example;
  if (!isMultilabel) return [{ confidence: answer.score, right: labels.includes(answer.label) }];
  return answer.scores.map(({ label, score }) => {
    const yes = answer.labels.includes(label);
    return { confidence: yes ? score : 1 - score, right: yes === labels.includes(label) };
  });
}

function* flatMapSteps<T, Result>(items: Iterable<T>, change: (item: T) => readonly Result[]): Steps<Result[]> {
  const results: Result[] = [];
  for (const item of items) {
    yield;
    for (const result of change(item)) results.push(result);
  }
  return results;
}

type Range = Example['entities'][number];

/** The figures of an entity model, as in seqeval's `classification_report`. */
function* entityEvaluation(
  { labels }: JudgedModel,
  rows: readonly Judged<EntityAnswer>[],
  options: BootstrapOptions,
): Steps<EntityEvaluation> {
  const compared = yield* mapSteps(rows, ({ example, answer }) => ({
    text: example.text,
    actual: example.entities,
    found: answer.entities,
    right: answer.entities.filter((each) => holds(example.entities, each)),
    wrong: answer.entities.filter((each) => !holds(example.entities, each)),
    missed: example.entities.filter((each) => !holds(answer.entities, each)),
  }));
  const names = [
    ...new Set(compared.flatMap(({ actual, found }) => [...actual, ...found].map(({ type }) => type))),
  ].sort();
  const ids = new Map(names.map((name, id) => [name, id]));
  const idsOf = (ranges: readonly Range[]) => ranges.map(({ type }) => ids.get(type) ?? -1);
  const decisions = compared.map(
    ({ right, wrong, missed }): Decisions => ({ right: idsOf(right), wrong: idsOf(wrong), missed: idsOf(missed) }),
  );
  const intervalOf = yield* bootstrap(rows.length, (times) => averageF1(decisions, names, times), options);
  const unknown = yield* unknownNames(labels, compared, ({ actual }) => actual.map(({ type }) => type));
  const withEntities = compared.filter(({ actual }) => actual.length > 0).length;
  return {
    kind: 'entities',
    rows: rows.length,
    ...classFigures(decisions, names),
    intervals: {
      microF1: intervalOf('microF1', withEntities),
      macroF1: intervalOf('macroF1', withEntities),
      weightedF1: intervalOf('weightedF1', withEntities),
    },
    mistakes: listedMistakes(
      yield* flatMapSteps(compared, ({ text, actual, found, wrong, missed }): Mistake[] => {
        if (wrong.length + missed.length === 0) return [];
        // The score of the most confident wrong entity; 0 if entities are only missing.
        const score = wrong.reduce((most, each) => Math.max(most, each.score), 0);
        return [{ text, expected: entityNames(text, actual), predicted: entityNames(text, found), score }];
      }),
    ),
    ...unknown,
  };
}

export function holds(ranges: readonly Range[], { start, end, type }: Range): boolean {
  return ranges.some((each) => each.type === type && each.start === start && each.end === end);
}

export function entityNames(text: string, ranges: readonly Range[]): string[] {
  return ranges.map(({ start, end, type }) => `${text.slice(start, end)} (${type})`);
}

/** The decisions about one example, as class numbers. An entity type is listed once for each place. */
interface Decisions {
  readonly right: readonly number[];
  readonly wrong: readonly number[];
  readonly missed: readonly number[];
}

function classFigures(
  decisions: readonly Decisions[],
  names: readonly string[],
  { times, keepsAll = false }: { readonly times?: Int32Array; readonly keepsAll?: boolean } = {},
) {
  const right = new Float64Array(names.length);
  const wrong = new Float64Array(names.length);
  const missed = new Float64Array(names.length);
  for (const [at, row] of decisions.entries()) {
    const weight = times?.[at] ?? 1;
    if (weight === 0) continue;
    add(right, row.right, weight);
    add(wrong, row.wrong, weight);
    add(missed, row.missed, weight);
  }
  const classes = names.flatMap((label, at): ClassFigures[] => {
    const counts = [right[at] ?? 0, wrong[at] ?? 0, missed[at] ?? 0] as const;
    const occurs = counts.some((count) => count > 0);
    return occurs || keepsAll ? [{ label, ...figuresOf(...counts) }] : [];
  });
  return {
    micro: figuresOf(sum(right), sum(wrong), sum(missed)),
    macro: meanOf(classes, () => 1),
    weighted: meanOf(classes, ({ support }) => support),
    classes,
  };
}

function averageF1(decisions: readonly Decisions[], names: readonly string[], times: Int32Array) {
  const { micro, macro, weighted } = classFigures(decisions, names, { times });
  return { microF1: micro.f1, macroF1: macro.f1, weightedF1: weighted.f1 };
}

function add(counts: Float64Array, classes: readonly number[], weight: number): void {
  for (const each of classes) counts[each] = (counts[each] ?? 0) + weight;
}

function meanOf(classes: readonly AverageFigures[], weightOf: (figures: AverageFigures) => number): AverageFigures {
  const total = sum(classes.map(weightOf));
  const mean = (field: 'precision' | 'recall' | 'f1') =>
    share(sum(classes.map((each) => weightOf(each) * each[field])), total);
  return {
    precision: mean('precision'),
    recall: mean('recall'),
    f1: mean('f1'),
    support: sum(classes.map(({ support }) => support)),
  };
}

function sum(values: Float64Array | readonly number[]): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

const LAST_RANK = 10;

function* passageEvaluation(
  rows: readonly Judged<PassageAnswer>[],
  options: BootstrapOptions,
): Steps<PassageEvaluation> {
  const ranks = yield* mapSteps(rows, rankOf);
  const gains = yield* mapSteps(rows, gainOf);
  const reciprocal = ranks.map((rank) => (rank <= LAST_RANK ? 1 / rank : 0));
  const mean = (values: readonly number[], times?: Int32Array) =>
    share(sum(values.map((value, at) => value * (times?.[at] ?? 1))), values.length);
  const top = (k: number, times?: Int32Array) =>
    mean(
      ranks.map((rank) => (rank <= k ? 1 : 0)),
      times,
    );
  const figures = (times?: Int32Array) => ({
    top1: top(1, times),
    mrr: mean(reciprocal, times),
    ndcg: mean(gains, times),
  });
  const intervalOf = yield* bootstrap(rows.length, figures, options);
  return {
    kind: 'passages',
    rows: rows.length,
    ...figures(),
    top3: top(3),
    top5: top(5),
    top10: top(LAST_RANK),
    intervals: { top1: intervalOf('top1'), mrr: intervalOf('mrr'), ndcg: intervalOf('ndcg') },
    mistakes: listedMistakes(
      yield* flatMapSteps(rows, ({ example, answer }): Mistake[] => {
        const { text, passages: expected } = example;
        const [best] = answer.passages;
        if (best === undefined || expected.includes(best.text)) return [];
        return [{ text, expected: [...expected], predicted: [best.text], score: best.score }];
      }),
    ),
  };
}

/** The rank of the first correct passage, from 1; ∞ if none is among the best. */
function rankOf({ example, answer }: Judged<PassageAnswer>): number {
  const best = answer.passages.slice(0, LAST_RANK);
  const at = best.findIndex(({ text }) => example.passages.includes(text));
  return at === -1 ? Number.POSITIVE_INFINITY : at + 1;
}

/** nDCG: the discounted gain of the correct passages, as a share of the gain of an ideal ranking. */
function gainOf({ example, answer }: Judged<PassageAnswer>): number {
  const gainAt = (at: number) => 1 / Math.log2(at + 2);
  const best = answer.passages.slice(0, LAST_RANK);
  const found = sum(best.map(({ text }, at) => (example.passages.includes(text) ? gainAt(at) : 0)));
  const most = Math.min(LAST_RANK, new Set(example.passages).size);
  return share(found, sum(Array.from({ length: most }, (_, at) => gainAt(at))));
}

const CONFIDENCE = 0.95;

/**
 * 95 % intervals by the percentile bootstrap (Efron 1979), which draws rows with replacement. If every sample gives 0, or 1,
 * the samples show no spread; the interval is then Wilson's for none or all of the rows.
 * @param figuresOf the figures of a sample, given how often each row is in it. [rows]
 * @returns the interval of a figure. `outOf` says how many rows decide it, where not all do.
 */
export function* bootstrap<Name extends string>(
  rows: number,
  figuresOf: (times: Int32Array) => Readonly<Record<Name, number>>,
  { resamples, seed }: BootstrapOptions,
): Steps<(name: Name, outOf?: number) => Interval> {
  const random = Random.fromSeed(seed);
  const samples: Readonly<Record<Name, number>>[] = [];
  const times = new Int32Array(rows);
  for (let sample = 0; sample < resamples; sample += 1) {
    yield;
    times.fill(0);
    for (let draw = 0; draw < rows; draw += 1) {
      const row = random.integer(rows);
      times[row] = (times[row] ?? 0) + 1;
    }
    samples.push(figuresOf(times));
  }
  return (name, outOf = rows) => {
    const sorted = Float64Array.from(samples, (figures) => figures[name]).sort();
    const [lowest, highest] = [sorted.at(0), sorted.at(-1)];
    if (lowest !== undefined && lowest === highest && (lowest === 0 || lowest === 1)) {
      const { low, high } = accuracyInterval(lowest, outOf);
      return [low, high];
    }
    return [quantile(sorted, (1 - CONFIDENCE) / 2), quantile(sorted, (1 + CONFIDENCE) / 2)];
  };
}

/** Interpolates linearly between the two nearest of sorted values; NaN if there are none. */
export function quantile(sorted: Float64Array, share: number): number {
  const place = share * (sorted.length - 1);
  const below = sorted[Math.floor(place)] ?? Number.NaN;
  const above = sorted[Math.ceil(place)] ?? Number.NaN;
  return below + (above - below) * (place - Math.floor(place));
}
