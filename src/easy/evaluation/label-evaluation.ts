import {
  confusionOf,
  expectedCalibrationError,
  figuresOf,
  labelMistake,
  share,
} from '../../families/index.js';
import { listedMistakes } from '../../model-folder/index.js';
import type { Steps } from '../../pauses.js';
import type { LabelAnswer } from '../answers.js';
import { type BootstrapOptions, intervalsOf } from './bootstrap.js';
import { averagesOf, countClasses, figuresOfClasses, type JudgedClasses, occurs } from './class-counts.js';
import type { AverageFigures, LabelEvaluation } from './evaluation.js';

/** A text with its labels and the model's answer. */
export interface JudgedText {
  readonly text: string;
  readonly actual: readonly string[];
  readonly answer: LabelAnswer;
}

/** What the figures are taken over. */
export interface LabelJudging extends BootstrapOptions {
  /** Of the model. */
  readonly labels: readonly string[];
  readonly isMultilabel: boolean;
}

/** The figures of a classifier, as scikit-learn's `classification_report` and `accuracy_score` have them. */
export function* labelEvaluation(
  rows: readonly JudgedText[],
  { labels, isMultilabel, ...bootstrap }: LabelJudging,
): Steps<LabelEvaluation> {
  const names = [...new Set([...labels, ...rows.flatMap(({ actual }) => actual)])];
  const ids = new Map(names.map((name, id) => [name, id]));
  const idsOf = (given: readonly string[]) => given.map((name) => ids.get(name) ?? -1);
  const judged = rows.map(({ actual, answer }) => judge(idsOf(actual), idsOf(answer.labels)));
  const counts = countClasses(judged, names.length);
  const classes = figuresOfClasses(names, counts).filter((_, at) => isMultilabel || occurs(counts, at));
  const intervals = yield* intervalsOf(
    rows.length,
    ['accuracy', 'microF1', 'macroF1', 'weightedF1'],
    (times) => resampled(judged, names, times),
    bootstrap,
  );
  return {
    kind: 'labels',
    rows: rows.length,
    accuracy: accuracyOf(judged),
    ...averagesOf(counts, classes),
    ...(isMultilabel && { samples: samplesOf(judged) }),
    classes,
    ...(!isMultilabel && {
      confusion: confusionOf(
        classes.map(({ label }) => label),
        rows.map(({ actual, answer }) => ({ actual, predicted: [answer.label] })),
      ),
    }),
    calibrationError: expectedCalibrationError(rows.flatMap((row) => decisionsOf(row, isMultilabel))),
    intervals,
    mistakes: listedMistakes(rows.flatMap(mistakeOf)),
  };
}

function judge(actual: readonly number[], predicted: readonly number[]): JudgedClasses {
  return {
    right: predicted.filter((label) => actual.includes(label)),
    wrong: predicted.filter((label) => !actual.includes(label)),
    missed: actual.filter((label) => !predicted.includes(label)),
  };
}

const isRight = ({ wrong, missed }: JudgedClasses) => wrong.length + missed.length === 0;

function accuracyOf(judged: readonly JudgedClasses[], times?: Int32Array): number {
  let right = 0;
  for (const [at, row] of judged.entries()) if (isRight(row)) right += times?.[at] ?? 1;
  return share(right, judged.length);
}

function resampled(judged: readonly JudgedClasses[], names: readonly string[], times: Int32Array) {
  const counts = countClasses(judged, names.length, times);
  const classes = figuresOfClasses(names, counts).filter((_, at) => occurs(counts, at));
  const { micro, macro, weighted } = averagesOf(counts, classes);
  const accuracy = accuracyOf(judged, times);
  return { accuracy, microF1: micro.f1, macroF1: macro.f1, weightedF1: weighted.f1 };
}

/** The mean over rows of each row's own figures. */
function samplesOf(judged: readonly JudgedClasses[]): AverageFigures {
  const each = judged.map(({ right, wrong, missed }) => figuresOf(right.length, wrong.length, missed.length));
  const mean = (field: keyof AverageFigures) =>
    share(
      each.reduce((total, figures) => total + figures[field], 0),
      each.length,
    );
  const support = each.reduce((total, figures) => total + figures.support, 0);
  return { precision: mean('precision'), recall: mean('recall'), f1: mean('f1'), support };
}

/** One decision a row; of a multilabel model, one a row and label, with the probability of the yes or no. */
function decisionsOf({ actual, answer }: JudgedText, isMultilabel: boolean) {
  if (!isMultilabel) return [{ confidence: answer.score, right: actual.includes(answer.label) }];
  return answer.scores.map(({ label, score }) => {
    const yes = answer.labels.includes(label);
    return { confidence: yes ? score : 1 - score, right: yes === actual.includes(label) };
  });
}

function mistakeOf({ text, actual, answer }: JudgedText) {
  const scores = new Map(answer.scores.map(({ label, score }) => [label, score]));
  return labelMistake({ text, actual, predicted: answer.labels }, (label) => scores.get(label) ?? 0);
}
