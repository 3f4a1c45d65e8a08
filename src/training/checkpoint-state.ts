import * as z from 'zod';
import { trainingStatsSchema } from '../contract/index.js';

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
