import type { TrainingStats } from '../contract/index.js';
import type { Scores } from '../families/index.js';

/**
 * `training_stats` before the first epoch.
 * @param mainMetric undefined for retrieval, whose metric is topk.
 */
export function emptyStats(batchSize: number, mainMetric: 'accuracy' | 'f1' | undefined): TrainingStats {
  return {
    batch_size: batchSize,
    ...(mainMetric && { main_eval_metric: mainMetric }),
    epoch: 0,
    metrics: {
      elapsed_time: [],
      training: { loss: [] },
      validation: {},
    },
  };
}

/** What one epoch adds to the statistics. */
export interface EpochFigures {
  readonly elapsedSeconds: number;
  /** Mean training loss. */
  readonly loss: number;
  readonly scores: Scores;
}

/** The statistics with one more epoch. */
export function withEpoch(
  stats: TrainingStats,
  { elapsedSeconds, loss, scores }: EpochFigures,
): TrainingStats {
  const { elapsed_time, training, validation } = stats.metrics;
  const { accuracy, f1, topk } = scores;
  const metrics = {
    elapsed_time: [...elapsed_time, elapsedSeconds],
    training: { loss: [...training.loss, loss] },
    validation: {
      ...(accuracy !== undefined && { accuracy: [...(validation.accuracy ?? []), accuracy] }),
      ...(f1 !== undefined && { f1: [...(validation.f1 ?? []), f1] }),
      ...(topk !== undefined && { topk: [...(validation.topk ?? []), topk] }),
    },
  };
  const main = stats.main_eval_metric && metrics.validation[stats.main_eval_metric];
  return {
    ...stats,
    epoch: stats.epoch + 1,
    ...(main && { best_eval_metric_value: Math.max(...main) }),
    metrics,
  };
}
