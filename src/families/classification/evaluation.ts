import { type ClassFigures, listedMistakes, type ModelEvaluation } from '../../models/index.js';
import { mapSteps, type Steps } from '../../system/index.js';
import {
  calibrationBins,
  confusionOf,
  type Decision,
  expectedCalibrationError,
  figuresOf,
  type JudgedLabels,
  labelMistake,
} from '../evaluation.js';
import { softmax } from '../softmax.js';
import type { ClassificationDataset, ClassificationKind, Link } from './classification-dataset.js';
import { heldBack, labelProbabilities, predictedLabels, sigmoid } from './probabilities.js';

export interface LabelCounts {
  truePositive: number;
  falsePositive: number;
  falseNegative: number;
}

export const figuresOfCounts = ({ truePositive, falsePositive, falseNegative }: LabelCounts) =>
  figuresOf(truePositive, falsePositive, falseNegative);

interface ClassificationScores {
  readonly accuracy: number;
  readonly f1: number;
}

/** The metric that decides which epoch is kept. Not accuracy in multilabel: rows with all labels right are rare. */
export function mainMetricOf(kind: ClassificationKind): keyof ClassificationScores {
  return kind === 'multilabel' ? 'f1' : 'accuracy';
}

/** F1 is the mean over `f1Labels`: macro-F1 for all labels, that of one label for it alone. */
export function classificationScores(
  predicted: readonly (readonly number[])[],
  actual: readonly (readonly number[])[],
  f1Labels: readonly number[],
): ClassificationScores {
  const exact = actual.filter((truth, row) => {
    const guess = predicted[row] ?? [];
    return guess.length === truth.length && guess.every((label) => truth.includes(label));
  }).length;
  const counts = countLabels(predicted, actual, f1Labels);
  const f1s = [...counts.values()].map((count) => figuresOfCounts(count).f1);
  const f1 = f1s.reduce((sum, value) => sum + value, 0) / Math.max(1, f1s.length);
  return { accuracy: exact / Math.max(1, actual.length), f1 };
}

function countLabels(
  predicted: readonly (readonly number[])[],
  actual: readonly (readonly number[])[],
  labels: readonly number[],
): Map<number, LabelCounts> {
  const counts = new Map<number, LabelCounts>(
    labels.map((label) => [label, { truePositive: 0, falsePositive: 0, falseNegative: 0 }]),
  );
  for (const [row, truth] of actual.entries()) {
    const guess = predicted[row] ?? [];
    for (const label of guess) add(counts.get(label), truth.includes(label) ? 'truePositive' : 'falsePositive');
    for (const label of truth) if (!guess.includes(label)) add(counts.get(label), 'falseNegative');
  }
  return counts;
}

function add(counts: LabelCounts | undefined, what: keyof LabelCounts): void {
  if (counts !== undefined) counts[what] += 1;
}

/** The truth that logits are compared with. */
interface DecisionRows {
  readonly link: Link;
  readonly outputs: number;
  readonly targets: Uint8Array;
  /** How far each row's probabilities are to be trusted. [rows] Default: they are as they are. */
  readonly trust?: Float64Array | undefined;
}

/**
 * Softmax: one decision per row, on the most probable label. Sigmoid: one per row and output.
 * @param logits [rows, outputs]
 */
export function* decisionsOf({ link, outputs, targets, trust }: DecisionRows, logits: Float32Array): Steps<Decision[]> {
  if (link === 'sigmoid') {
    return yield* mapSteps(logits, (value, at) => {
      const held = { trust: trust?.[Math.floor(at / outputs)] ?? 1, independent: outputs > 1 };
      const plain = sigmoid(value);
      const [probability = plain] = heldBack(Float64Array.of(plain, 1 - plain), held);
      const yes = probability > 0.5;
      return { confidence: yes ? probability : 1 - probability, right: yes === (targets[at] === 1) };
    });
  }
  return yield* mapSteps(new Array(logits.length / outputs).keys(), (row) => {
    const plain = softmax(logits.subarray(row * outputs, (row + 1) * outputs));
    const probabilities = heldBack(plain, { trust: trust?.[row] ?? 1, independent: false });
    const confidence = Math.max(...probabilities);
    return { confidence, right: targets[row * outputs + probabilities.indexOf(confidence)] === 1 };
  });
}

/** What a model answers to a row that its rules match. */
export interface RuledRow {
  /** Of each label. */
  readonly probabilities: Float64Array;
  readonly predicted: readonly number[];
}

/** What a finished classifier says about the dev rows. Arrays are [rows, outputs]. */
interface ScoredRows extends DecisionRows {
  readonly logits: Float32Array;
  /** The sum of both experts before they were weighted. */
  readonly uncalibrated: Float32Array;
}

export function* classificationEvaluation(
  { kind, labels, dev }: Pick<ClassificationDataset, 'kind' | 'labels' | 'dev'>,
  { logits, uncalibrated, ...rows }: ScoredRows,
  ruled: ReadonlyMap<number, RuledRow> = new Map(),
): Steps<ModelEvaluation> {
  const reading = { link: rows.link, labels: labels.length };
  const answers = yield* mapSteps(dev, ({ text, text2, labelIds }, row): Answer => {
    const byRules = ruled.get(row);
    const second = text2 !== undefined && { text2 };
    if (byRules) return { text, ...second, actual: labelIds, ...byRules };
    const mine = logits.subarray(row * rows.outputs, (row + 1) * rows.outputs);
    const probabilities = labelProbabilities(mine, { ...reading, trust: rows.trust?.[row] });
    return { text, ...second, actual: labelIds, predicted: predictedLabels(mine, reading), probabilities };
  });
  const decisions = withoutRows(yield* decisionsOf(rows, logits), dev.length, ruled);
  const judged = answers.map((answer) => named(labels, answer));
  const mistakes = yield* mapSteps(answers, ({ probabilities }, row) => {
    const each = judged[row];
    return each ? labelMistake(each, (label) => probabilities[labels.indexOf(label)] ?? 0) : [];
  });
  return {
    format: 1,
    rows: dev.length,
    classes: classFigures(labels, answers),
    ...(kind !== 'multilabel' && { confusion: confusionOf(labels, judged) }),
    calibration: {
      bins: calibrationBins(decisions),
      error: expectedCalibrationError(decisions),
      error_before: expectedCalibrationError(yield* decisionsOf({ ...rows, trust: undefined }, uncalibrated)),
    },
    mistakes: listedMistakes(mistakes.flat()),
  };
}

/** Rules are certain: calibration is that of the model. @param decisions as many for each row */
function withoutRows(
  decisions: readonly Decision[],
  rows: number,
  ruled: ReadonlyMap<number, RuledRow>,
): readonly Decision[] {
  return ruled.size === 0
    ? decisions
    : decisions.filter((_, at) => !ruled.has(Math.floor((at * rows) / decisions.length)));
}

interface Answer extends RuledRow {
  readonly text: string;
  readonly text2?: string;
  readonly actual: readonly number[];
}

const named = (labels: readonly string[], { actual, predicted, ...texts }: Answer): JudgedLabels => ({
  ...texts,
  actual: actual.map((id) => labels[id] ?? ''),
  predicted: predicted.map((id) => labels[id] ?? ''),
});

function classFigures(labels: readonly string[], answers: readonly Answer[]): ClassFigures[] {
  const counts = countLabels(
    answers.map(({ predicted }) => predicted),
    answers.map(({ actual }) => actual),
    [...labels.keys()],
  );
  return [...counts].map(([label, count]) => {
    return { label: labels[label] ?? '', ...figuresOfCounts(count) };
  });
}
