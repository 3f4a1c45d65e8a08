import { type ClassFigures, listedMistakes, type ModelEvaluation } from '../../model-folder/index.js';
import { mapSteps, type Steps } from '../../pauses.js';
import { calibrationBins, expectedCalibrationError } from '../calibration-error.js';
import { confusionOf, type JudgedLabels, labelMistake } from '../judged-labels.js';
import type { ClassificationDataset } from './classification-dataset.js';
import { labelProbabilities, predictedLabels } from './classification-decoder.js';
import { countLabels, figuresOfCounts } from './classification-scores.js';
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

/** One row, its labels by id. */
interface Answer {
  readonly text: string;
  readonly actual: readonly number[];
  readonly predicted: readonly number[];
  readonly probabilities: Float64Array;
}

const named = (labels: readonly string[], { text, actual, predicted }: Answer): JudgedLabels => ({
  text,
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
