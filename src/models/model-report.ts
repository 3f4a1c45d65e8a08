import { join } from 'node:path';
import * as z from 'zod';
import {
  isError,
  ModelFolderError,
  modelConfigSchema,
  type Topk,
  topkSchema,
  trainingConfigSchema,
  trainingStatsSchema,
} from '../contract/index.js';
import { EVALUATION_FILE, readJsonText, TRAINING_FILE } from './folder-files.js';
import { type ModelFolderConfig, readConfig } from './model-config.js';

export interface ModelReport {
  readonly config: ModelFolderConfig;
  readonly training: TrainingRecord;
  /** Absent without an evaluation.json. */
  readonly evaluation?: ModelEvaluation;
}

/** @throws ModelFolderError */
export async function readModelReport(directory: string): Promise<ModelReport> {
  const [config, training, evaluation] = await Promise.all([
    readConfig(directory),
    readChecked(directory, TRAINING_FILE, trainingRecordSchema),
    readChecked(directory, EVALUATION_FILE, modelEvaluationSchema).catch(absentIfMissing),
  ]);
  return { config, training, ...(evaluation && { evaluation }) };
}

/** The confusions of 10,000 labels. */
const MAX_REPORT_BYTES = 256 * 1024 ** 2;

/** @throws ModelFolderError */
async function readChecked<T>(directory: string, name: string, schema: z.ZodType<T>): Promise<T> {
  const { json } = await readJsonText(directory, name, MAX_REPORT_BYTES);
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new ModelFolderError(join(directory, name), `${issue?.path.join('.')}: ${issue?.message}`);
}

/** @throws the error, unless the file is missing */
function absentIfMissing(error: unknown): undefined {
  const cause = error instanceof ModelFolderError ? error.cause : undefined;
  if (isError(cause) && 'code' in cause && cause.code === 'ENOENT') return undefined;
  throw error;
}

/** The dev figures of one part of a model. */
export interface RecordedPart {
  accuracy?: number;
  f1?: number;
  topk?: Topk;
  /** The expected calibration error before and after calibration. */
  calibration_error?: { before: number; after: number };
}
const partFiguresSchema: z.ZodType<RecordedPart> = z.lazy(() =>
  z.object({
    accuracy: z.number().exactOptional(),
    f1: z.number().exactOptional(),
    topk: topkSchema.exactOptional(),
    calibration_error: z.object({ before: z.number(), after: z.number() }).exactOptional(),
  }),
);

const warningSchema = z.lazy(() =>
  z.object({
    kind: z.string(),
    count: z.int(),
    message: z.string(),
    examples: z.array(z.object({ file: z.string(), line: z.int() })).readonly(),
  }),
);

/** training.json. */
export const trainingRecordSchema = z.lazy(() =>
  z.object({
    model_config: modelConfigSchema,
    training_config: trainingConfigSchema,
    /** The values that were used, with defaults. */
    hyperparameters: z.record(z.string(), z.union([z.number(), z.string(), z.boolean()])),
    /** Absent if the encoder started from random weights. */
    backbone: z.object({ name: z.string(), revision: z.string().exactOptional() }).exactOptional(),
    seed: z.int(),
    /** How many rules the model has answered with for its figures. Absent: none. */
    rules: z.int().exactOptional(),
    /** `cpu` or `webgpu`. */
    device: z.string().exactOptional(),
    training_stats: trainingStatsSchema,
    parts: z
      .object({ encoder: partFiguresSchema, expert: partFiguresSchema, blend: partFiguresSchema })
      .exactOptional(),
    /** The label that every `f1` above is of. Absent if it is the mean over the labels, or of entities. */
    positive: z.string().exactOptional(),
    /** The deciding metric on dev with each kind of weights, and the kind that answers. Absent if 8-bit was not tried. */
    precision: z
      .object({ float32: z.number(), int8: z.number(), answers: z.enum(['float32', 'int8']) })
      .exactOptional(),
    warnings: z.array(warningSchema).readonly(),
    /** Without dev rows, `judged_rows` of the training rows were answered in `folds` by models that hadn't seen them. */
    dataset: z
      .object({
        train_rows: z.int(),
        dev_rows: z.int(),
        folds: z.int().exactOptional(),
        judged_rows: z.int().exactOptional(),
      })
      .exactOptional(),
    /** Versions of this library, Node and other software, by name. */
    versions: z.record(z.string(), z.string()).exactOptional(),
  }),
);
export type RecordedPrecision = NonNullable<z.infer<typeof trainingRecordSchema>['precision']>;
export type TrainingRecord = z.infer<typeof trainingRecordSchema>;

/** The figures of one class. */
export interface ClassFigures {
  /** A label, or an entity type. */
  label: string;
  /** 0 to 1, as are recall and f1; each is 0 if its denominator is 0. */
  precision: number;
  recall: number;
  f1: number;
  /** Number of rows (or entities) with this class. */
  support: number;
}
const classFiguresSchema: z.ZodType<ClassFigures> = z.lazy(() =>
  z.strictObject({
    label: z.string(),
    precision: z.number(),
    recall: z.number(),
    f1: z.number(),
    support: z.int(),
  }),
);

/** How often each label was predicted for each actual label. */
export interface Confusion {
  labels: string[];
  /** counts[actual][predicted], in the order of `labels`. */
  counts: number[][];
}
const confusionSchema: z.ZodType<Confusion> = z.lazy(() =>
  z.strictObject({
    labels: z.array(z.string()),
    counts: z.array(z.array(z.int())),
  }),
);

const calibrationBinSchema = z.lazy(() =>
  z.strictObject({
    /** The model's mean confidence, 0 to 1. */
    confidence: z.number(),
    /** The share of correct decisions. */
    accuracy: z.number(),
    /** Number of decisions: one per row, or one per row and label for a multilabel model. */
    rows: z.int(),
  }),
);
export type CalibrationBin = z.infer<typeof calibrationBinSchema>;

const calibrationSchema = z.lazy(() =>
  z.strictObject({
    /** Ten equal intervals of confidence, ascending. Empty ones are left out. */
    bins: z.array(calibrationBinSchema),
    /** The expected calibration error of the model's scores; 0 is perfect. */
    error: z.number(),
    /** The same before calibration. */
    error_before: z.number(),
  }),
);
export type Calibration = z.infer<typeof calibrationSchema>;

const retrievalSchema = z.lazy(() =>
  z.strictObject({
    /** The share of questions whose passage is among the first k. */
    topk: topkSchema,
    /** Mean reciprocal rank of the correct passage. */
    mrr: z.number().exactOptional(),
  }),
);

const weighedWordSchema = z.strictObject({
  /** Its place in the text, in UTF-16 code units; `end` is exclusive. */
  start: z.int(),
  end: z.int(),
  /** The log-odds that it adds to the prediction; below 0, it speaks against it. */
  weight: z.number(),
});
export type WeighedWord = z.infer<typeof weighedWordSchema>;

/** A text with a wrong answer. */
export interface Mistake {
  /** At most 300 characters. */
  text: string;
  /** The second text of a pair, of at most 300 characters. */
  text2?: string;
  /** Labels, entities or passages, each of at most 300 characters. */
  expected: string[];
  predicted: string[];
  /** The score of the wrong answer, 0 to 1. */
  score: number;
  /** The words that led to the answer. Only for some mistakes of classifiers. */
  words?: WeighedWord[];
}
const mistakeSchema: z.ZodType<Mistake> = z.lazy(() =>
  z.strictObject({
    text: z.string(),
    text2: z.string().exactOptional(),
    expected: z.array(z.string()),
    predicted: z.array(z.string()),
    score: z.number(),
    words: z.array(weighedWordSchema).exactOptional(),
  }),
);

/** evaluation.json: on dev rows. */
export const modelEvaluationSchema = z.lazy(() =>
  z.strictObject({
    format: z.literal(1),
    /** Number of dev rows. */
    rows: z.int(),
    classes: z.array(classFiguresSchema).exactOptional(),
    /** Only for models that give each row exactly one label. */
    confusion: confusionSchema.exactOptional(),
    calibration: calibrationSchema.exactOptional(),
    retrieval: retrievalSchema.exactOptional(),
    /** At most MAX_MISTAKES, the most confident first. */
    mistakes: z.array(mistakeSchema),
  }),
);
export type ModelEvaluation = z.infer<typeof modelEvaluationSchema>;
