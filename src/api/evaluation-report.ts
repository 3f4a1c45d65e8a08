import type { ResultAsync } from 'neverthrow';
import * as z from 'zod';
import { callResult, type OrchardError, requireOptions, ValidationError, validate } from '../contract/index.js';
import { counted, quoted, someOf } from '../datasets/index.js';
import type { Evaluation, Interval } from './evaluate.js';

/** One figure of an evaluation, 0 to 1. */
export interface EvaluationFigure {
  /** For people to read, such as `macro F1`. */
  readonly name: string;
  readonly value: number;
  /** The 95 % interval, if the figure has one. */
  readonly interval?: Interval;
}

/** The main figures of an evaluation, the most important first. */
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
  const { accuracy, calibrationError, positive } = evaluation;
  const { positiveF1 } = evaluation.intervals;
  return [
    { name: 'accuracy', value: accuracy, interval: evaluation.intervals.accuracy },
    ...(positive
      ? [
          {
            name: `F1 of ${JSON.stringify(positive.label)}`,
            value: positive.f1,
            ...(positiveF1 && { interval: positiveF1 }),
          },
        ]
      : []),
    ...averages,
    { name: 'calibration error', value: calibrationError },
  ];
}

/** Options of {@link evaluationReport}. */
export interface EvaluationReportOptions {
  /** The title of the page. Default: "Evaluation of a model". */
  readonly title?: string | undefined;
}

const optionsSchema = z.strictObject({ title: z.string().min(1).default('Evaluation of a model') });

const NO_EVALUATION = 'give what `evaluate` returned';
const TILES = 4;

/**
 * Writes an HTML page about an evaluation: figures with their intervals, the figures of each class, confusions and
 * mistakes. The page is self-contained and loads nothing. Fails with a ValidationError for an unknown option.
 */
export function evaluationReport(
  evaluation: Evaluation,
  options: EvaluationReportOptions = {},
): ResultAsync<string, OrchardError> {
  return callResult(pageOf(evaluation, options), 'writing the report of an evaluation');
}

async function pageOf(evaluation: Evaluation, options: EvaluationReportOptions): Promise<string> {
  const { title } = validate(optionsSchema, requireOptions(options, '`{ title }`'));
  if (evaluation?.kind === undefined)
    throw new ValidationError([{ loc: ['evaluation'], msg: NO_EVALUATION, type: 'missing' }]);
  const { evaluationHtml } = await import('../report/index.js'); // loads a drawing library
  const figures = evaluationFigures(evaluation);
  return evaluationHtml({
    ...evaluation,
    title,
    note: [
      counted(evaluation.rows, evaluation.kind === 'passages' ? 'question' : 'row'),
      ...unknownNote(evaluation),
      ...(evaluation.warnings ?? []).map(({ message }) => message),
    ].join('; '),
    tiles: figures.slice(0, TILES).map(({ name, value }) => ({ name, value: percent(value) })),
    intervals: [...figures, ...averagesOf(evaluation)].map(({ name, value, interval }) => ({
      name,
      value: percent(value),
      interval: interval ? `${percent(interval[0])} to ${percent(interval[1])}` : '',
    })),
  });
}

function unknownNote(evaluation: Evaluation): readonly string[] {
  if (evaluation.kind === 'passages' || evaluation.unknownLabels === undefined) return [];
  const unknown = someOf(evaluation.unknownLabels.map(({ label }) => quoted(label)));
  const known = someOf((evaluation.modelLabels ?? []).map((label) => quoted(label)));
  return [`labels unknown to the model, counted as wrong: ${unknown}`, `the model has ${known}`];
}

/** As in the tables of classes and confusions. */
const percent = (value: number): string => `${(100 * value).toFixed(1)} %`;

/** Averages of precision and recall, which have no interval. */
function averagesOf(evaluation: Evaluation): readonly EvaluationFigure[] {
  if (evaluation.kind === 'passages') return [];
  return (['micro', 'macro', 'weighted'] as const).flatMap((kind) => [
    { name: `${kind} precision`, value: evaluation[kind].precision },
    { name: `${kind} recall`, value: evaluation[kind].recall },
  ]);
}
