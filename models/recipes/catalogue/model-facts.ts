import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

/** What is known about a catalogue model besides its weights: what it was trained on, and how it scored. */

/** Beside the weights of a catalogue model. */
export const DATA_FILE = 'data.json';
export const FIGURES_FILE = 'figures.json';
export const ROBUSTNESS_FILE = 'robustness.json';
/** File that credits the authors of shipped texts, as the licence asks. */
export const NOTICE_FILE = 'NOTICE';

export const trainingDataSchema = z.strictObject({
  sources: z.array(
    z.strictObject({
      title: z.string(),
      licence: z.string(),
      remark: z.string().exactOptional(),
      /** The encoder that gave the rows their labels, fine-tuned on those that came with some. */
      teacher: z.string().exactOptional(),
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
  /** If each training row has the mean of its label and its teacher's answer: whether that teacher had learned the row. */
  mixedLabels: z.enum(['held-out', 'learned']).exactOptional(),
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
  tests: z.array(measuredSchema).readonly(),
  /** Speed of the answering graph and its companions; see bench/catalogue. */
  speed: z.strictObject({
    texts_per_second: z.number(),
    p50_ms: z.number(),
    first_answer_ms: z.number(),
  }),
  machine: z.string(),
});
export type ModelFigures = z.infer<typeof figuresSchema>;

const estimateSchema = z.strictObject({ value: z.number(), low: z.number(), high: z.number() });

export const robustnessSchema = z.strictObject({
  /** A test, as it was published and edited in several ways. */
  edited: z.array(
    z.strictObject({
      test: z.string(),
      metric: z.enum(metrics),
      rows: z.int(),
      figures: z.array(estimateSchema.extend({ edit: z.string() })),
    }),
  ),
  /** How many texts of a kind get the right label. */
  kinds: z.array(estimateSchema.extend({ kind: z.string(), label: z.string(), rows: z.int() })),
  /** How sure the model is of its likeliest label, on average, and how often that is right. */
  calibration: z.array(
    z.strictObject({
      test: z.string(),
      rows: z.int(),
      accuracy: z.number(),
      confidence: z.number(),
      /** Expected calibration error. */
      error: z.number(),
    }),
  ),
});
/** What becomes of a model's figures on texts that aren't as neat as its tests. */
export type Robustness = z.infer<typeof robustnessSchema>;

/** A JSON file of a model; undefined if there is none. @throws ZodError if it has another shape */
export async function readFacts<Facts>(
  directory: string,
  file: string,
  schema: z.ZodType<Facts>,
): Promise<Facts | undefined> {
  const content = await readFile(join(directory, file), 'utf8').catch(() => undefined);
  return content === undefined ? undefined : schema.parse(JSON.parse(content));
}

/** Numbers keep six digits behind the point, so that cards and tables round what is nearly exact. */
export const factsFile = (facts: TrainingData | ModelFigures | Robustness): string =>
  `${JSON.stringify(facts, (_, value) => (typeof value === 'number' ? Number(value.toFixed(6)) : value), 2)}\n`;
