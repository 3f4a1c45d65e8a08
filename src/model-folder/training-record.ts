/** The training.json of a model folder: how the model was trained. */
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
  /** The expected calibration error before and after calibration. */
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

export const trainingRecordSchema = z.object({
  model_config: modelConfigSchema,
  /** As in the request. */
  training_config: trainingConfigSchema,
  /** The values that were used, with defaults. */
  hyperparameters: z.record(z.string(), z.union([z.number(), z.string(), z.boolean()])),
  /** The backbone that the encoder started from. Absent if it started from random weights. */
  backbone: z.object({ name: z.string(), revision: z.string().exactOptional() }).exactOptional(),
  seed: z.int(),
  /** The device of the training, such as `cpu` or `webgpu`. */
  device: z.string().exactOptional(),
  training_stats: trainingStatsSchema,
  parts: z
    .object({ encoder: partFiguresSchema, expert: partFiguresSchema, blend: partFiguresSchema })
    .exactOptional(),
  /**
   * The deciding metric on dev with float32 and with 8-bit weights, and the kind that the model answers with. Absent if 8-bit
   * weights were not tried.
   */
  precision: z
    .object({ float32: z.number(), int8: z.number(), answers: z.enum(['float32', 'int8']) })
    .exactOptional(),
  warnings: z.array(warningSchema).readonly(),
  dataset: z.object({ train_rows: z.int(), dev_rows: z.int() }).exactOptional(),
  /** The versions of this library, Node and other software of the training, by name. */
  versions: z.record(z.string(), z.string()).exactOptional(),
});
export type RecordedPrecision = NonNullable<z.infer<typeof trainingRecordSchema>['precision']>;
export type TrainingRecord = z.infer<typeof trainingRecordSchema>;
