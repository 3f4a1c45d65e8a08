import * as z from 'zod';
import { type TrainingStats, trainingStatsSchema } from '../contract/index.js';
import type { Scores } from '../families/index.js';

/** State of a training between two steps: all that a checkpoint keeps besides the tensors. */
export const trainingStateSchema = z.strictObject({
  /** Training is resumed only for the same request on the same rows. */
  fingerprint: z.string(),
  stats: trainingStatsSchema,
  /** Optimizer steps taken. */
  steps: z.int(),
  /** How far the epoch in progress has come; absent between two epochs. */
  epoch: z
    .strictObject({
      /** Batches trained on. */
      batches: z.int(),
      /** Sum of the losses of its examples so far, and their number. */
      loss: z.number(),
      examples: z.int(),
      seconds: z.number(),
    })
    .exactOptional(),
  /** Where the stream of dropout masks stands; `stream` names one that isn't the default. */
  dropout: z.strictObject({
    seed: z.number(),
    position: z.number(),
    stream: z.enum(['graph']).exactOptional(),
  }),
  /** Epoch (from 1) with the best value, and that value; absent before the first evaluation. */
  best: z.strictObject({ epoch: z.int(), value: z.number() }).exactOptional(),
});
export type TrainingState = z.infer<typeof trainingStateSchema>;

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
