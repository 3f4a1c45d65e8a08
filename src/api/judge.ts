import { confusionOf, expectedCalibrationError, figuresOf, labelMistake, share } from '../families/index.js';
import { type ClassFigures, listedMistakes, type Mistake } from '../models/index.js';
import { Random, type Steps } from '../system/index.js';
import type { Answer, EntityAnswer, LabelAnswer, PassageAnswer } from './answers.js';
import type {
  AverageFigures,
  EntityEvaluation,
  Evaluation,
  Example,
  Interval,
  JudgedModel,
  LabelEvaluation,
  PassageEvaluation,
} from './evaluate.js';

export interface BootstrapOptions {
  readonly resamples: number;
  readonly seed: number;
}

interface Judged<Given extends Answer> {
  readonly example: Example;
  readonly answer: Given;
}

/**
 * Compares answers with examples.
 * @param answers in the order of the examples; examples without an answer are left out.
 */
export function judge(
  model: JudgedModel,
  examples: readonly Example[],
  answers: readonly (Answer | undefined)[],
  options: BootstrapOptions,
): Steps<Evaluation> {
  switch (model.kind) {
    case 'labels':
      return labelEvaluation(model, answered('labels', examples, answers), options);
    case 'entities':
      return entityEvaluation(answered('entities', examples, answers), options);
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
  options: BootstrapOptions,
): Steps<LabelEvaluation> {
  const isMultilabel = type === 'multilabel-text-classification';
  const names = [...new Set([...labels, ...rows.flatMap(({ example }) => example.labels)])];
  const ids = new Map(names.map((name, id) => [name, id]));
  const idsOf = (given: readonly string[]) => given.map((name) => ids.get(name) ?? -1);
  const decisions = rows.map(({ example, answer }): Decisions => {
    const [actual, predicted] = [idsOf(example.labels), idsOf(answer.labels)];
    return {
      right: predicted.filter((label) => actual.includes(label)),
      wrong: predicted.filter((label) => !actual.includes(label)),
      missed: actual.filter((label) => !predicted.includes(label)),
    };
  });
  const intervalOf = yield* bootstrap(
    rows.length,
    (times) => ({ accuracy: accuracyOf(decisions, times), ...averageF1(decisions, names, times) }),
    options,
  );
  const figures = classFigures(decisions, names, { keepsAll: isMultilabel });
  const occurring = figures.classes.map(({ label }) => label);
  return {
    kind: 'labels',
    rows: rows.length,
    accuracy: accuracyOf(decisions),
    ...figures,
    ...(isMultilabel
      ? { samples: samplesOf(decisions) }
      : {
          confusion: confusionOf(
            occurring,
            rows.map(({ example, answer }) => ({ actual: example.labels, predicted: [answer.label] })),
          ),
        }),
    calibrationError: expectedCalibrationError(rows.flatMap((row) => confidences(row, isMultilabel))),
    intervals: {
      accuracy: intervalOf('accuracy'),
      microF1: intervalOf('microF1'),
      macroF1: intervalOf('macroF1'),
      weightedF1: intervalOf('weightedF1'),
    },
    mistakes: listedMistakes(
      rows.flatMap(({ example, answer }) => {
        const scores = new Map(answer.scores.map(({ label, score }) => [label, score]));
        const judged = { text: example.text, actual: example.labels, predicted: answer.labels };
        return labelMistake(judged, (label) => scores.get(label) ?? 0);
      }),
    ),
  };
}

/** @param times how often each row counts. Default: once. [rows] */
function accuracyOf(decisions: readonly Decisions[], times?: Int32Array): number {
  let right = 0;
  for (const [at, { wrong, missed }] of decisions.entries()) {
    if (wrong.length + missed.length === 0) right += times?.[at] ?? 1;
  }
  return share(right, decisions.length);
}

/** The mean over rows of each row's own figures. */
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

type Range = Example['entities'][number];

/** The figures of an entity model, as in seqeval's `classification_report`. */
function* entityEvaluation(rows: readonly Judged<EntityAnswer>[], options: BootstrapOptions): Steps<EntityEvaluation> {
  const compared = rows.map(({ example, answer }) => ({
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
    ({ right, wrong, missed }): Decisions => ({
      right: idsOf(right),
      wrong: idsOf(wrong),
      missed: idsOf(missed),
    }),
  );
  const intervalOf = yield* bootstrap(rows.length, (times) => averageF1(decisions, names, times), options);
  return {
    kind: 'entities',
    rows: rows.length,
    ...classFigures(decisions, names),
    intervals: {
      microF1: intervalOf('microF1'),
      macroF1: intervalOf('macroF1'),
      weightedF1: intervalOf('weightedF1'),
    },
    mistakes: listedMistakes(
      compared.flatMap(({ text, actual, found, wrong, missed }): Mistake[] => {
        if (wrong.length + missed.length === 0) return [];
        // The score of the most confident wrong entity; 0 if entities are only missing.
        const score = wrong.reduce((most, each) => Math.max(most, each.score), 0);
        return [{ text, expected: entityNames(text, actual), predicted: entityNames(text, found), score }];
      }),
    ),
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

interface CountOptions {
  /** How often each row counts. Default: once. [rows] */
  readonly times?: Int32Array;
  /** Whether classes that never occur are kept. Default false. */
  readonly keepsAll?: boolean;
}

function classFigures(
  decisions: readonly Decisions[],
  names: readonly string[],
  { times, keepsAll = false }: CountOptions = {},
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
  const ranks = rows.map(rankOf);
  const gains = rows.map(gainOf);
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
      rows.flatMap(({ example, answer }): Mistake[] => {
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
 * 95 % intervals by the percentile bootstrap (Efron 1979): rows are drawn with replacement, again and again.
 * @param figuresOf the figures of a sample, given how often each row is in it. [rows]
 * @returns the interval of a figure
 */
export function* bootstrap<Name extends string>(
  rows: number,
  figuresOf: (times: Int32Array) => Readonly<Record<Name, number>>,
  { resamples, seed }: BootstrapOptions,
): Steps<(name: Name) => Interval> {
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
  return (name) => {
    const sorted = Float64Array.from(samples, (figures) => figures[name]).sort();
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
