import * as z from 'zod';
import {
  answerViews,
  inferenceResultSchema,
  MAX_IDEMPOTENCY_KEY_LENGTH,
  MAX_LISTED_PROBLEMS,
  metadataSchema,
  modelRecordSchema,
  modelTypeSchema,
  paginationSchema,
  trainingJobInformationSchema,
} from '../contract/index.js';

export const problemSchema = z.strictObject({
  loc: z
    .array(z.union([z.string(), z.int()]))
    .meta({ description: 'Path to the value in the request, such as body, queries, 3.' }),
  msg: z.string().meta({ description: 'What is wrong, and what to do.' }),
  type: z.string().meta({ description: 'Stable name of the kind of problem.' }),
});

/** The body of every answer other than a success, and of the answers to DELETE. */
export const detailSchema = z.strictObject({ detail: z.array(problemSchema) });

export const errorSchema = z.strictObject({
  ...detailSchema.shape,
  data: z
    .record(z.string(), z.unknown())
    .optional()
    .meta({ description: 'Medleys only: the answers of the models that did not fail.' }),
});

/** For a route without a query string: refuses any parameter. */
export const noQuery = z.strictObject({});

export const idempotencySchema = z.object({
  'idempotency-key': z.string().min(1).max(MAX_IDEMPOTENCY_KEY_LENGTH).optional().meta({
    description: 'Identifies this request: repeating it with the same key within 24 hours returns the same job.',
  }),
});

export const modelPathSchema = z.object({ model_id: z.string() });
export const pretrainedPathSchema = z.object({ model_name: z.string().meta({ example: 'customer-review' }) });

export const createdSchema = z.strictObject({ id: z.string() });
export const modelAnswerSchema = z.strictObject({ data: modelRecordSchema });
export const modelListSchema = z.strictObject({
  data: z.array(modelRecordSchema),
  pagination: paginationSchema,
});

const datasetProblemSchema = z.strictObject({
  file: z.string().meta({ description: 'Path inside the zip, or the name of the zip for a problem of the whole zip.' }),
  line: z.int().optional().meta({ description: 'Line number, from 1.' }),
  column: z
    .union([z.int(), z.string()])
    .optional()
    .meta({ description: 'Column in UTF-16 code units, from 1, or the name of a field.' }),
  found: z.string().meta({ description: 'What was found.' }),
  expected: z.string().meta({ description: 'What the format requires.' }),
});

const jobErrorSchema = z.strictObject({
  code: z.string().meta({ description: 'Stable name of the kind of failure.' }),
  message: z.string(),
  problems: z.array(datasetProblemSchema).max(MAX_LISTED_PROBLEMS).optional().meta({
    description: 'The problems of the dataset, if they are the reason; at most the first 100.',
  }),
});

const warningSchema = z.strictObject({
  kind: z.string().meta({ description: 'Stable name of the kind of warning.' }),
  count: z.int().meta({
    description:
      'Number of rows, or of other parts of the dataset such as labels or entities, that the warning concerns.',
  }),
  message: z.string(),
});

export const jobSchema = trainingJobInformationSchema.extend({
  validation_rows: z.int().optional().meta({
    description: 'Number of dev rows that metrics.validation is measured on. Present after the first epoch.',
  }),
  positive_label: z
    .string()
    .optional()
    .meta({ description: 'Binary classification: the label whose F1 is reported. Present after the first epoch.' }),
  error: jobErrorSchema.optional().meta({ description: 'Why the job ended in ERROR.' }),
  warnings: z
    .array(warningSchema)
    .optional()
    .meta({ description: 'Warnings about the dataset or the training, which did not stop it.' }),
});
export const jobAnswerSchema = z.strictObject({ data: jobSchema });
export const jobListSchema = z.strictObject({ data: z.array(jobSchema), pagination: paginationSchema });

const resultsSchema = z.array(inferenceResultSchema);
export const oneResultSchema = z.strictObject({ data: inferenceResultSchema, metadata: metadataSchema });
export const resultListSchema = z.strictObject({ data: resultsSchema, metadata: metadataSchema });
export const medleyResultSchema = z.strictObject({
  data: z.record(z.string(), inferenceResultSchema),
  metadata: metadataSchema,
});
export const medleyResultListsSchema = z.strictObject({
  data: z.record(z.string(), resultsSchema),
  metadata: metadataSchema,
});

const explainedWordSchema = z.strictObject({ word: z.string(), start: z.int(), weight: z.number() });
const ruleNameSchema = z.union([z.string(), z.int()]);
const explainedSchema = z.strictObject({
  answer: z.string(),
  score: z.number(),
  position: z.int(),
  words: z.array(explainedWordSchema),
  matches: z.array(explainedWordSchema.omit({ weight: true })).optional(),
  rule: z.strictObject({ name: ruleNameSchema, text: z.string(), start: z.int() }).optional(),
});

/** A result with the words that influenced its answers; only for the page. */
export const explanationSchema = z.strictObject({
  data: z.strictObject({
    labels: z.array(z.string()),
    scores: z.array(z.number()),
    tokens: z.array(z.string()).optional(),
    token_start_positions: z.array(z.int()).optional(),
    rules: z.array(ruleNameSchema.nullable()).readonly().optional(),
    explained: z.array(explainedSchema).readonly(),
  }),
  metadata: metadataSchema,
});

export const pageModelsSchema = z.strictObject({
  data: z.array(
    z.strictObject({
      name: z.string(),
      type: modelTypeSchema,
      commercial_use: z.boolean(),
      bytes: z.int().optional(),
    }),
  ),
  answer_views: z.record(z.string(), z.enum(answerViews)),
  /** The names of columns that are recognized in a file of rows, by what they hold. */
  column_names: z.strictObject({
    text: z.array(z.string()),
    label: z.array(z.string()),
    question: z.array(z.string()),
    passage: z.array(z.string()),
  }),
});

const agreementSchema = z.strictObject({ asked: z.int(), agreed: z.int() });

/** A set of texts that an account labels at the page. */
export const labellingSetSchema = z.strictObject({
  data: z.strictObject({
    id: z.string(),
    name: z.string(),
    created: z.string(),
    labels: z.array(z.string()),
    texts: z.int(),
    /** Texts of each label. */
    counts: z.array(z.int()),
    skipped: z.int(),
    /** The text to label next; null if none is left. */
    next: z.strictObject({ text: z.int(), content: z.string() }).nullable(),
    /** The text that was labelled or skipped last. */
    last: z.int().nullable(),
    model: z.string().nullable(),
    training: z.string().nullable(),
    /** How often the model has been asked after a choice, and agreed. */
    agreement: agreementSchema,
    order: z.enum(['chance', 'spread', 'model']),
    is_order_due: z.boolean(),
  }),
});
export type LabellingSetAnswer = z.infer<typeof labellingSetSchema>;

export const labellingListSchema = z.strictObject({
  data: z.array(
    labellingSetSchema.shape.data.pick({ id: true, name: true, labels: true, texts: true, created: true }).extend({
      /** Texts that were labelled or skipped. */
      done: z.int(),
    }),
  ),
});

export const opinionSchema = z.strictObject({
  data: z.strictObject({ label: z.string(), score: z.number(), agreement: agreementSchema }).nullable(),
});

export interface JobProgress {
  /** download, read, prepare, train, evaluate or export. */
  readonly phase: string;
  /** Completed share of the whole job, 0 to 1. */
  readonly fraction: number;
  readonly epoch: number;
  readonly epochs: number;
  readonly step: number;
  readonly steps: number;
  /** Mean training loss of the current epoch; absent before the first step. */
  readonly loss?: number;
  /** Estimated remaining time in milliseconds; absent until it can be estimated. */
  readonly remaining_ms?: number;
}

/**
 * An event of a watched job. `job` is the job information with all figures so far: it comes first, and again after every
 * change. `failed` is the last event if the job can't be watched any longer.
 */
export type JobStreamEvent =
  | { readonly event: 'job'; readonly data: z.infer<typeof jobSchema> }
  | { readonly event: 'progress'; readonly data: JobProgress }
  | { readonly event: 'failed'; readonly data: z.infer<typeof detailSchema> };

/** UTF-16 code units of a query that one inference call covers. */
const CHARACTERS_PER_CALL = 5000;

/** The inference calls of queries: one each, and one more for each further 5,000 characters or part of them. */
export function inferenceCallsOf(queries: readonly string[]): number {
  return queries.reduce((calls, { length }) => calls + Math.max(1, Math.ceil(length / CHARACTERS_PER_CALL)), 0);
}
