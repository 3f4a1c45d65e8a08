import {
  type ClassFigures,
  type Confusion,
  listedMistakes,
  type Mistake,
  type ModelEvaluation,
} from '../../model-folder/index.js';
import { mapSteps, type Steps } from '../../pauses.js';
import { calibrationBins, expectedCalibrationError } from '../calibration-error.js';
import type { ClassificationDataset } from './classification-dataset.js';
import { labelProbabilities, predictedLabels } from './classification-decoder.js';
import { countLabels, f1Of } from './classification-scores.js';
import { type DecisionRows, decisionsOf } from './decisions.js';

/** What a finished classifier says about the dev rows. Arrays are [rows, outputs]. */
export interface ScoredRows extends DecisionRows {
  /** The model's own: blended and calibrated. */
  readonly logits: Float32Array;
  /** The sum of both experts before they were weighted. */
  readonly uncalibrated: Float32Array;
}

/**
 * The figures of each label, the confusion matrix (unless a row may have several labels), the calibration,
 * and the mistakes that the model was surest of.
 */
export function* classificationEvaluation(
  { kind, labels, dev }: Pick<ClassificationDataset, 'kind' | 'labels' | 'dev'>,
  { logits, uncalibrated, ...rows }: ScoredRows,
): Steps<ModelEvaluation> {
  const reading = { link: rows.link, labels: labels.length };
  const answers = yield* mapSteps(dev, ({ text, labelIds }, row): Answer => {
    const mine = logits.subarray(row * rows.outputs, (row + 1) * rows.outputs);
    const probabilities = labelProbabilities(mine, { ...reading, trust: rows.trust?.[row] });
    return { text, actual: labelIds, predicted: predictedLabels(mine, reading), probabilities };
  });
  const decisions = yield* decisionsOf(rows, logits);
  const mistakes = yield* mapSteps(answers, (answer) => mistakeOf(labels, answer));
  return {
    format: 1,
    rows: dev.length,
    classes: classFigures(labels, answers),
    ...(kind !== 'multilabel' && { confusion: confusionOf(labels, answers) }),
    calibration: {
      bins: calibrationBins(decisions),
      error: expectedCalibrationError(decisions),
      error_before: expectedCalibrationError(yield* decisionsOf({ ...rows, trust: undefined }, uncalibrated)),
    },
    mistakes: listedMistakes(mistakes.flat()),
  };
}

/** One row, its labels by id. */
interface Answer {
  readonly text: string;
  readonly actual: readonly number[];
  readonly predicted: readonly number[];
  readonly probabilities: Float64Array;
}

function classFigures(labels: readonly string[], answers: readonly Answer[]): ClassFigures[] {
  const counts = countLabels(
    answers.map(({ predicted }) => predicted),
    answers.map(({ actual }) => actual),
    [...labels.keys()],
  );
  return [...counts].map(([label, count]) => {
    const { truePositive, falsePositive, falseNegative } = count;
    return {
      label: labels[label] ?? '',
      precision: truePositive / Math.max(1, truePositive + falsePositive),
      recall: truePositive / Math.max(1, truePositive + falseNegative),
      f1: f1Of(count),
      support: truePositive + falseNegative,
    };
  });
}

function confusionOf(labels: readonly string[], answers: readonly Answer[]): Confusion {
  const counts = labels.map(() => labels.map(() => 0));
  for (const { actual, predicted } of answers) {
    const row = counts[actual[0] ?? -1];
    const column = predicted[0] ?? -1;
    if (row?.[column] !== undefined) row[column] += 1;
  }
  return { labels: [...labels], counts };
}

/**
 * The model's mistake on a row, if it made one. Its score is the highest probability of a wrong label or, if
 * labels are only missing, the highest probability that one of these is absent.
 */
function mistakeOf(labels: readonly string[], { text, actual, predicted, probabilities }: Answer): Mistake[] {
  const wrong = predicted.filter((label) => !actual.includes(label));
  const missed = actual.filter((label) => !predicted.includes(label));
  if (wrong.length === 0 && missed.length === 0) return [];
  const confidences =
    wrong.length > 0
      ? wrong.map((label) => probabilities[label] ?? 0)
      : missed.map((label) => 1 - (probabilities[label] ?? 0));
  const named = (ids: readonly number[]) => ids.map((id) => labels[id] ?? '');
  return [{ text, expected: named(actual), predicted: named(predicted), score: Math.max(...confidences) }];
}
