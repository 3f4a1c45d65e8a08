import type { Predictor } from 'orchard-nlp';
import { z } from 'zod';

/** What the process of a measurement of Orchard alone is told: its only argument. */
export const taskSchema = z.strictObject({
  mode: z.enum(['profile', 'soak', 'cycles', 'overload', 'latency-at-load']),
  /** The number that came with the option. */
  amount: z.number(),
  storage: z.string(),
  workers: z.int(),
  /** Ids of the custom models. */
  ids: z.strictObject({ classification: z.string(), tagging: z.string(), retrieval: z.string() }),
});
export type AloneTask = z.infer<typeof taskSchema>;
export type ModeName = AloneTask['mode'];

/** Rows of a table by their names, each with its cells by theirs. */
export const rowsSchema = z.record(z.string(), z.record(z.string(), z.union([z.number(), z.string()])));
export type Rows = z.infer<typeof rowsSchema>;

/** @param open a predictor on the task's models; whoever opens one closes it. */
export type Mode = (task: AloneTask, open: OpenPredictor) => Promise<Rows>;
export type OpenPredictor = (options?: { readonly memoryLimit: number }) => Predictor;
