/** The evaluation.json of a model folder: how the finished model does on its dev rows. */
import * as z from 'zod';
import { topkSchema } from '../contract/index.js';

/** At most this many mistakes are kept. */
export const MAX_MISTAKES = 50;
/** Texts, entities and passages of mistakes are cut to this many characters (code points). */
export const MAX_MISTAKE_CHARACTERS = 300;

export interface ClassFigures {
  /** A label, or a type of entity. */
  label: string;
  /** This and the next two are 0 where there is nothing to divide by. */
  precision: number;
  recall: number;
  f1: number;
  /** How many rows (or entities) have it. */
  support: number;
}
const classFiguresSchema: z.ZodType<ClassFigures> = z.strictObject({
  label: z.string(),
  precision: z.number(),
  recall: z.number(),
  f1: z.number(),
  support: z.int(),
});

export interface Confusion {
  labels: string[];
  /** counts[actual][predicted], in the order of `labels`. */
  counts: number[][];
}
const confusionSchema: z.ZodType<Confusion> = z.strictObject({
  labels: z.array(z.string()),
  counts: z.array(z.array(z.int())),
});

const calibrationBinSchema = z.strictObject({
  /** The model's mean confidence, 0 to 1. */
  confidence: z.number(),
  /** Share of its decisions that were right. */
  accuracy: z.number(),
  /** Decisions in the bin: one per row, or one per row and label if labels are decided independently. */
  rows: z.int(),
});
export type CalibrationBin = z.infer<typeof calibrationBinSchema>;

const calibrationSchema = z.strictObject({
  /** Ten equal parts of [0, 1], by rising confidence; parts without decisions are left out. */
  bins: z.array(calibrationBinSchema),
  /** Expected calibration error of the scores that the model gives (0 is perfect). */
  error: z.number(),
  /** The same before the logits were calibrated. */
  error_before: z.number(),
});
export type Calibration = z.infer<typeof calibrationSchema>;

const retrievalSchema = z.strictObject({
  /** Share of the questions whose passage is among the first k. */
  topk: topkSchema,
  /** Mean reciprocal rank of the right passage. */
  mrr: z.number().exactOptional(),
});

const weighedWordSchema = z.strictObject({
  /** Where it is in the text, in UTF-16 code units; `end` is exclusive. */
  start: z.int(),
  end: z.int(),
  /** The log-odds that it adds to what was predicted; below 0, it speaks against it. */
  weight: z.number(),
});
export type WeighedWord = z.infer<typeof weighedWordSchema>;

export interface Mistake {
  /** At most 300 characters. */
  text: string;
  /** Labels, entities or passages, each cut as well. */
  expected: string[];
  predicted: string[];
  /** How sure the model was of what it got wrong, 0 to 1. */
  score: number;
  /** What moved the model, word by word; only of some mistakes of classifiers. */
  words?: WeighedWord[];
}
const mistakeSchema: z.ZodType<Mistake> = z.strictObject({
  text: z.string(),
  expected: z.array(z.string()),
  predicted: z.array(z.string()),
  score: z.number(),
  words: z.array(weighedWordSchema).exactOptional(),
});

export const modelEvaluationSchema = z.strictObject({
  format: z.literal(1),
  /** Dev rows. */
  rows: z.int(),
  classes: z.array(classFiguresSchema).exactOptional(),
  /** Only of models that give each row exactly one label. */
  confusion: confusionSchema.exactOptional(),
  calibration: calibrationSchema.exactOptional(),
  retrieval: retrievalSchema.exactOptional(),
  /** The most confident ones first, at most {@link MAX_MISTAKES}. */
  mistakes: z.array(mistakeSchema),
});
export type ModelEvaluation = z.infer<typeof modelEvaluationSchema>;

/** The mistakes that are kept, with their texts cut. */
export function listedMistakes(mistakes: readonly Mistake[]): Mistake[] {
  return [...mistakes]
    .sort((a, b) => b.score - a.score)
    .slice(0, MAX_MISTAKES)
    .map(({ text, expected, predicted, score }) => ({
      text: cut(text),
      expected: expected.map(cut),
      predicted: predicted.map(cut),
      score,
    }));
}

function cut(text: string): string {
  // A character has at most two UTF-16 code units, so the end of a long text needn't be looked at.
  const characters = [...text.slice(0, 2 * MAX_MISTAKE_CHARACTERS + 2)];
  if (characters.length <= MAX_MISTAKE_CHARACTERS) return text;
  return `${characters.slice(0, MAX_MISTAKE_CHARACTERS - 1).join('')}…`;
}
