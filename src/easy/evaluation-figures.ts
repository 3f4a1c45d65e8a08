import type { Evaluation, Interval } from './evaluation/index.js';

/** One figure of an evaluation, 0 to 1. */
export interface EvaluationFigure {
  /** In words, such as `macro F1`. */
  readonly name: string;
  readonly value: number;
  /** At 95 %, where there is one. */
  readonly interval?: Interval;
}

/** The figures of an evaluation that say most, by name, those to know first at the beginning. */
export function evaluationFigures(evaluation: Evaluation): readonly EvaluationFigure[] {
  if (evaluation.kind === 'passages') {
    const { top1, top3, top5, top10, mrr, ndcg, intervals } = evaluation;
    return [
      { name: 'right passage first', value: top1, interval: intervals.top1 },
      { name: 'mean reciprocal rank', value: mrr, interval: intervals.mrr },
      { name: 'nDCG of the first 10', value: ndcg, interval: intervals.ndcg },
      { name: 'among the first 3', value: top3 },
      { name: 'among the first 5', value: top5 },
      { name: 'among the first 10', value: top10 },
    ];
  }
  const { micro, macro, weighted, intervals } = evaluation;
  const averages: EvaluationFigure[] = [
    { name: 'macro F1', value: macro.f1, interval: intervals.macroF1 },
    { name: 'micro F1', value: micro.f1, interval: intervals.microF1 },
    { name: 'weighted F1', value: weighted.f1, interval: intervals.weightedF1 },
  ];
  if (evaluation.kind === 'entities') return averages;
  const { accuracy, calibrationError } = evaluation;
  return [
    { name: 'accuracy', value: accuracy, interval: evaluation.intervals.accuracy },
    ...averages,
    { name: 'calibration error', value: calibrationError },
  ];
}
