/** What is known of a catalogue model beside its weights: what it was trained on, and what it was measured to do. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

/** Beside the weights of a catalogue model. */
export const DATA_FILE = 'data.json';
export const FIGURES_FILE = 'figures.json';
/** Whom the licence of shipped texts wants to be named. */
export const NOTICE_FILE = 'NOTICE';

export const trainingDataSchema = z.strictObject({
  sources: z.array(
    z.strictObject({
      title: z.string(),
      licence: z.string(),
      remark: z.string().exactOptional(),
      /** Rows that it gave, after `leaks` were left out because they are in a test. */
      train: z.int(),
      dev: z.int(),
      leaks: z.int(),
    }),
  ),
  /** Rows in the archive, without duplicates; dev may have been set aside from train. */
  train: z.int(),
  dev: z.int(),
  duplicates: z.int(),
});
export type TrainingData = z.infer<typeof trainingDataSchema>;

export const metrics = ['accuracy', 'macro-F1', 'entity F1', 'nDCG@10'] as const;
export type Metric = (typeof metrics)[number];

const measuredSchema = z.strictObject({
  test: z.string(),
  metric: z.enum(metrics),
  /** 0 to 1. */
  value: z.number(),
  /** Its 95 % interval. */
  low: z.number(),
  high: z.number(),
  /** Test rows. */
  rows: z.int(),
  /** The same of another method, measured beside it. */
  beside: z.strictObject({ method: z.string(), value: z.number() }).exactOptional(),
});
/** A figure on a test. */
export type Measured = z.infer<typeof measuredSchema>;

export const figuresSchema = z.strictObject({
  tests: z.array(measuredSchema),
  /** Of the answering graph and its companions; see bench/catalogue. */
  speed: z.strictObject({
    texts_per_second: z.number(),
    p50_ms: z.number(),
    first_answer_ms: z.number(),
  }),
  machine: z.string(),
});
export type ModelFigures = z.infer<typeof figuresSchema>;

/** A JSON file of a model; undefined where there is none. @throws ZodError where it is of another shape */
export async function readFacts<Facts>(
  directory: string,
  file: string,
  schema: z.ZodType<Facts>,
): Promise<Facts | undefined> {
  const content = await readFile(join(directory, file), 'utf8').catch(() => undefined);
  return content === undefined ? undefined : schema.parse(JSON.parse(content));
}

export const factsFile = (facts: TrainingData | ModelFigures): string =>
  `${JSON.stringify(facts, undefined, 2)}\n`;
