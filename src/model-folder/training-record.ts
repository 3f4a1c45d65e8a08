/** The training.json of a model folder: how the model came to be. */
import * as z from 'zod';
import {
  modelConfigSchema,
  topkSchema,
  trainingConfigSchema,
  trainingStatsSchema,
} from '../contract/index.js';

/** What one part of a model reaches on dev. */
const partFiguresSchema = z.object({
  accuracy: z.number().exactOptional(),
  f1: z.number().exactOptional(),
  topk: topkSchema.exactOptional(),
  /** Expected calibration error of its raw outputs, and of the calibrated ones. */
  calibration_error: z.object({ before: z.number(), after: z.number() }).exactOptional(),
});
export type RecordedPart = z.infer<typeof partFiguresSchema>;

const warningSchema = z.object({
  kind: z.string(),
  count: z.int(),
  message: z.string(),
  examples: z.array(z.object({ file: z.string(), line: z.int() })).readonly(),
});

/** Only what every version has written is asked for. */
export const trainingRecordSchema = z.object({
  model_config: modelConfigSchema,
  /** As it was asked for. */
  training_config: trainingConfigSchema,
  /** As it was run, defaults filled in. */
  hyperparameters: z.record(z.string(), z.union([z.number(), z.string(), z.boolean()])),
  /** What the encoder started from; absent where it started from random weights. */
  backbone: z.object({ name: z.string(), revision: z.string().exactOptional() }).exactOptional(),
  seed: z.int(),
  training_stats: trainingStatsSchema,
  parts: z
    .object({ encoder: partFiguresSchema, expert: partFiguresSchema, blend: partFiguresSchema })
    .exactOptional(),
  /**
   * Where 8-bit weights were asked for: what the figure that decides about epochs is on dev with either kind, and which
   * kind answers.
   */
  precision: z
    .object({ float32: z.number(), int8: z.number(), answers: z.enum(['float32', 'int8']) })
    .exactOptional(),
  warnings: z.array(warningSchema).readonly(),
  dataset: z.object({ train_rows: z.int(), dev_rows: z.int() }).exactOptional(),
  /** Of this library, Node and what else the training ran on, by name. */
  versions: z.record(z.string(), z.string()).exactOptional(),
});
export type RecordedPrecision = NonNullable<z.infer<typeof trainingRecordSchema>['precision']>;
export type TrainingRecord = z.infer<typeof trainingRecordSchema>;
