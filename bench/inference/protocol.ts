import { z } from 'zod';

/** What a contestant's process is told and what it answers: one JSON object a line, on its standard input and output. */

export const taskSchema = z.enum(['text-classification', 'token-classification', 'feature-extraction']);
/** A task by transformers.js' name. */
export type Task = z.infer<typeof taskSchema>;

const modelSchema = z.strictObject({
  task: taskSchema,
  /** The model's folder. */
  directory: z.string(),
  /** Of the custom model in Orchard's storage. */
  id: z.string(),
});
/** A model as every library finds it. */
export type BenchModel = z.infer<typeof modelSchema>;

export const openingSchema = z.strictObject({
  /** One model, or those of a medley: sub-folders of one folder. */
  models: z.array(modelSchema).min(1).readonly(),
  /** The folder of Orchard's storage. */
  storage: z.string(),
  /** Worker threads of Orchard. */
  workers: z.int(),
  /** Threads of a run, in the peers. */
  threads: z.int(),
  /** Weights, in the peers. */
  dtype: z.enum(['fp32', 'q8']),
});
/** What a contestant loads: the only argument of its process. */
export type Opening = z.infer<typeof openingSchema>;

const roundSchema = z.strictObject({
  /** The texts of each call. */
  calls: z.array(z.array(z.string()).readonly()).readonly(),
  /** How many callers there are; each makes its next call when its last one was answered. */
  callers: z.int(),
  /** Whether to tell the share of decoding, which costs a little time. */
  traced: z.boolean(),
});
export type Round = z.infer<typeof roundSchema>;

export const requestSchema = z.union([
  roundSchema,
  /** Answers of the encoder alone, in one call. */
  z.strictObject({ check: z.array(z.string()).readonly() }),
]);

/** Numbers of one answer by their names, equal in every library. */
export type NamedNumbers = Readonly<Record<string, number>>;

const figuresSchema = z.strictObject({
  /** Of each call. */
  milliseconds: z.array(z.number()),
  elapsedMs: z.number(),
  /** How late the event loop was, 99th percentile; null where there is none. */
  loopDelayMs: z.number().nullable(),
  /** The most resident memory that the process has had so far. */
  peakMebibytes: z.number(),
  /** The share of the lexical expert and the result in the threads' time; null where it isn't told. */
  decodingShare: z.number().nullable(),
});
/** What one round came to. */
export type RoundFigures = z.infer<typeof figuresSchema>;

export const replySchema = z.union([
  /** The library and its version: the first line. */
  z.strictObject({ ready: z.string() }),
  figuresSchema,
  z.strictObject({ answers: z.array(z.record(z.string(), z.number())) }),
  z.strictObject({ failure: z.string() }),
]);
export type Reply = z.infer<typeof replySchema>;
