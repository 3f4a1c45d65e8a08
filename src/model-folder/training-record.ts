/** The training.json of a model folder: how the model came to be. */
import * as z from 'zod';
import {
  modelConfigSchema,
  type Topk,
  topkSchema,
  trainingConfigSchema,
  trainingStatsSchema,
} from '../contract/index.js';

/** The dev figures of one part of a model. */
export interface RecordedPart {
  accuracy?: number;
  f1?: number;
  topk?: Topk;
  /** Expected calibration error of the raw and of the calibrated outputs. */
  calibration_error?: { before: number; after: number };
}
const partFiguresSchema: z.ZodType<RecordedPart> = z.object({
  accuracy: z.number().exactOptional(),
  f1: z.number().exactOptional(),
  topk: topkSchema.exactOptional(),
  calibration_error: z.object({ before: z.number(), after: z.number() }).exactOptional(),
});

const warningSchema = z.object({
  kind: z.string(),
  count: z.int(),
  message: z.string(),
  examples: z.array(z.object({ file: z.string(), line: z.int() })).readonly(),
});

/** Only fields that every version has written are required. */
export const trainingRecordSchema = z.object({
  model_config: modelConfigSchema,
  /** As in the request. */
  training_config: trainingConfigSchema,
  /** As used, with defaults filled in. */
  hyperparameters: z.record(z.string(), z.union([z.number(), z.string(), z.boolean()])),
  /** What the encoder started from; absent if it started from random weights. */
  backbone: z.object({ name: z.string(), revision: z.string().exactOptional() }).exactOptional(),
  seed: z.int(),
  /** What computed the steps, such as `cpu` or `webgpu`; models of earlier versions lack it. */
  device: z.string().exactOptional(),
  training_stats: trainingStatsSchema,
  parts: z
    .object({ encoder: partFiguresSchema, expert: partFiguresSchema, blend: partFiguresSchema })
    .exactOptional(),
  /**
   * If 8-bit weights were tried: the dev figure that also decides which epoch is kept, with either kind
   * of weights, and the kind that the model runs with.
   */
  precision: z
    .object({ float32: z.number(), int8: z.number(), answers: z.enum(['float32', 'int8']) })
    .exactOptional(),
  warnings: z.array(warningSchema).readonly(),
  dataset: z.object({ train_rows: z.int(), dev_rows: z.int() }).exactOptional(),
  /** The versions of this library, of Node and of what else the training used, by name. */
  versions: z.record(z.string(), z.string()).exactOptional(),
});
export type RecordedPrecision = NonNullable<z.infer<typeof trainingRecordSchema>['precision']>;
export type TrainingRecord = z.infer<typeof trainingRecordSchema>;
