/** What is known about a catalogue model besides its weights: what it was trained on, and how it scored. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

/** Beside the weights of a catalogue model. */
export const DATA_FILE = 'data.json';
export const FIGURES_FILE = 'figures.json';
/** File that credits the authors of shipped texts, as the licence asks. */
export const NOTICE_FILE = 'NOTICE';

export const trainingDataSchema = z.strictObject({
  sources: z.array(
    z.strictObject({
      title: z.string(),
      licence: z.string(),
      remark: z.string().exactOptional(),
      /** Rows that the source gave, after `leaks` were left out because they are in a test. */
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
  /** The same figure of another method, measured beside it. */
  beside: z.strictObject({ method: z.string(), value: z.number() }).exactOptional(),
});
/** A figure on a test. */
export type Measured = z.infer<typeof measuredSchema>;

export const figuresSchema = z.strictObject({
  tests: z.array(measuredSchema),
  /** Speed of the answering graph and its companions; see bench/catalogue. */
  speed: z.strictObject({
    texts_per_second: z.number(),
    p50_ms: z.number(),
    first_answer_ms: z.number(),
  }),
  machine: z.string(),
});
export type ModelFigures = z.infer<typeof figuresSchema>;

/** A JSON file of a model; undefined if there is none. @throws ZodError if it has another shape */
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
