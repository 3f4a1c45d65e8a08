import { ResultAsync } from 'neverthrow';
import * as z from 'zod';
import { validate } from '../../contract/index.js';
import { type OrchardError, toOrchardError } from '../../errors.js';
import type { EvaluationPage } from '../../report/index.js';
import type { Evaluation, Interval } from './evaluation.js';

/** What a page about an evaluation is called. */
export interface EvaluationReportOptions {
  /** Such as the model's name. Default `Evaluation`. */
  readonly title?: string | undefined;
}

const optionsSchema = z.strictObject({
  title: z.string().min(1, 'the title is empty').default('Evaluation'),
});

/**
 * One self-contained HTML page about an evaluation: figures with their intervals, each class, confusions, and the mistakes
 * that the model was surest of, whose texts it quotes. Fails with a ValidationError.
 */
export function evaluationReport(
  evaluation: Evaluation,
  options: EvaluationReportOptions = {},
): ResultAsync<string, OrchardError> {
  const work = async () => {
    const { title } = validate(optionsSchema, options ?? {});
    const { evaluationHtml } = await import('../../report/index.js');
    return evaluationHtml({ title, ...pageOf(evaluation) });
  };
  return ResultAsync.fromPromise(work(), (thrown) =>
    toOrchardError(thrown, 'writing the report of an evaluation'),
  );
}

function pageOf(evaluation: Evaluation): Omit<EvaluationPage, 'title'> {
  const { mistakes, rows } = evaluation;
  const common = {
    mistakes: [...mistakes],
    subtitle: `${rows.toLocaleString('en-US')} ${nouns[evaluation.kind]}`,
  };
  const note = 'In brackets: 95 % intervals by bootstrap, 1,000 resamples unless asked otherwise.';
  if (evaluation.kind === 'passages') {
    const { top1, top3, top5, top10, mrr, ndcg, intervals } = evaluation;
    const figures = [
      { name: 'top 1', value: withInterval(top1, intervals.top1) },
      { name: 'top 3', value: percent(top3) },
      { name: 'top 5', value: percent(top5) },
      { name: 'top 10', value: percent(top10) },
      { name: 'MRR', value: withInterval(mrr, intervals.mrr) },
      { name: 'nDCG', value: withInterval(ndcg, intervals.ndcg) },
    ];
    return { ...common, figures, note };
  }
  const { micro, macro, weighted, intervals } = evaluation;
  const averages = [
    { name: 'macro F1', value: withInterval(macro.f1, intervals.macroF1) },
    { name: 'micro F1', value: withInterval(micro.f1, intervals.microF1) },
    { name: 'weighted F1', value: withInterval(weighted.f1, intervals.weightedF1) },
  ];
  const classes = [...evaluation.classes];
  if (evaluation.kind === 'entities') return { ...common, classes, figures: averages, note };
  const accuracy = {
    name: 'accuracy',
    value: withInterval(evaluation.accuracy, evaluation.intervals.accuracy),
  };
  const { confusion } = evaluation;
  return { ...common, classes, ...(confusion && { confusion }), figures: [accuracy, ...averages], note };
}

const nouns = { labels: 'examples', entities: 'texts', passages: 'questions' };

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
const withInterval = (share: number, [low, high]: Interval): string =>
  `${percent(share)} (${(100 * low).toFixed(1)}–${(100 * high).toFixed(1)})`;
