import { ResultAsync } from 'neverthrow';
import * as z from 'zod';
import { validate } from '../contract/index.js';
import { type OrchardError, toOrchardError } from '../errors.js';
import type { Evaluation } from './evaluation/index.js';
import { type EvaluationFigure, evaluationFigures } from './evaluation-figures.js';

/** How the page is called. */
export interface EvaluationReportOptions {
  /** Default: "Evaluation of a model". */
  readonly title?: string | undefined;
}

const optionsSchema = z.strictObject({ title: z.string().min(1).default('Evaluation of a model') });

/**
 * An HTML page about an evaluation: figures with their intervals, each class, confusions, mistakes. It needs nothing else
 * and loads nothing. Fails with a ValidationError for an unknown option.
 */
export function evaluationReport(
  evaluation: Evaluation,
  options: EvaluationReportOptions = {},
): ResultAsync<string, OrchardError> {
  return ResultAsync.fromPromise(pageOf(evaluation, options), (thrown) =>
    toOrchardError(thrown, 'writing the report of an evaluation'),
  );
}

async function pageOf(evaluation: Evaluation, options: EvaluationReportOptions): Promise<string> {
  const { title } = validate(optionsSchema, options);
  const { evaluationHtml } = await import('../report/index.js'); // it draws, which few need
  const { rows, mistakes } = evaluation;
  const figures = evaluationFigures(evaluation);
  return evaluationHtml({
    title,
    note: `${rows.toLocaleString('en-US')} ${evaluation.kind === 'passages' ? 'questions' : 'rows'}`,
    tiles: figures.slice(0, TILES).map(({ name, value }) => ({ name, value: decimals(value) })),
    intervals: [...figures, ...averagesOf(evaluation)].map(({ name, value, interval }) => ({
      name,
      value: decimals(value),
      interval: interval ? `${decimals(interval[0])} to ${decimals(interval[1])}` : '',
    })),
    mistakes,
    ...(evaluation.kind !== 'passages' && { classes: evaluation.classes }),
    ...(evaluation.kind === 'labels' && evaluation.confusion && { confusion: evaluation.confusion }),
  });
}

/** Figures in the page's head. */
const TILES = 4;

const decimals = (value: number): string => value.toFixed(4);

/** Averages of precision and recall, which have no interval. */
function averagesOf(evaluation: Evaluation): readonly EvaluationFigure[] {
  if (evaluation.kind === 'passages') return [];
  return (['micro', 'macro', 'weighted'] as const).flatMap((kind) => [
    { name: `${kind} precision`, value: evaluation[kind].precision },
    { name: `${kind} recall`, value: evaluation[kind].recall },
  ]);
}
