import * as z from 'zod';
import {
  answerViews,
  inferenceResultSchema,
  MAX_IDEMPOTENCY_KEY_LENGTH,
  metadataSchema,
  modelRecordSchema,
  modelTypeSchema,
  paginationSchema,
  trainingJobInformationSchema,
} from '../contract/index.js';
import { MAX_LISTED_PROBLEMS } from '../errors.js';

/** What requests and answers wrap around the objects of the contract. */

export const problemSchema = z.strictObject({
  loc: z
    .array(z.union([z.string(), z.int()]))
    .meta({ description: 'Where: a path into the request, such as body, queries, 3.' }),
  msg: z.string().meta({ description: 'What is wrong, and what to do.' }),
  type: z.string().meta({ description: 'A stable name of the kind of problem.' }),
});

/** The body of every answer that isn't a success, and of the two that delete. */
export const detailSchema = z.strictObject({ detail: z.array(problemSchema) });

export const errorSchema = z.strictObject({
  ...detailSchema.shape,
  data: z
    .record(z.string(), z.unknown())
    .optional()
    .meta({ description: 'Of a medley: what the models answered that did not fail.' }),
});

/** Of an operation that takes no query string: a parameter all the same is a mistake. */
export const noQuery = z.strictObject({});

export const idempotencySchema = z.object({
  'idempotency-key': z.string().min(1).max(MAX_IDEMPOTENCY_KEY_LENGTH).optional().meta({
    description: 'Names this request: the same key within 24 hours gives the same job.',
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
  file: z
    .string()
    .meta({ description: "Path inside the zip; the zip's name where the whole of it is meant." }),
  line: z.int().optional().meta({ description: 'Counted from 1.' }),
  column: z
    .union([z.int(), z.string()])
    .optional()
    .meta({ description: 'Counted from 1 in UTF-16 code units, or the name of a field.' }),
  found: z.string().meta({ description: 'What is there.' }),
  expected: z.string().meta({ description: 'What the format asks for.' }),
});

const jobErrorSchema = z.strictObject({
  code: z.string().meta({ description: 'A stable name of the kind of failure.' }),
  message: z.string(),
  problems: z.array(datasetProblemSchema).max(MAX_LISTED_PROBLEMS).optional().meta({
    description: 'What is wrong in the dataset, where that is why; of very many problems the first.',
  }),
});

const warningSchema = z.strictObject({
  kind: z.string().meta({ description: 'A stable name of the kind of warning.' }),
  count: z.int().meta({ description: 'How many rows or classes it concerns.' }),
  message: z.string(),
});

/** The job information, and why a job failed or what was noticed in its dataset, where there is such. */
export const jobSchema = trainingJobInformationSchema.extend({
  error: jobErrorSchema.optional().meta({ description: 'Why the job ended in ERROR.' }),
  warnings: z
    .array(warningSchema)
    .optional()
    .meta({ description: 'What was noticed in the dataset that training could live with.' }),
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
const explainedSchema = z.strictObject({
  answer: z.string(),
  score: z.number(),
  position: z.int(),
  words: z.array(explainedWordSchema),
  matches: z.array(explainedWordSchema.omit({ weight: true })).optional(),
});

/** A result with what moved its answers; only the page asks for it. */
export const explanationSchema = z.strictObject({
  data: z.strictObject({
    labels: z.array(z.string()),
    scores: z.array(z.number()),
    tokens: z.array(z.string()).optional(),
    token_start_positions: z.array(z.int()).optional(),
    explained: z.array(explainedSchema).readonly(),
  }),
  metadata: metadataSchema,
});

/** What can be asked from the page: the pretrained models, and how the answers of each type of model are shown. */
export const pageModelsSchema = z.strictObject({
  data: z.array(z.strictObject({ name: z.string(), type: modelTypeSchema })),
  answer_views: z.record(z.string(), z.enum(answerViews)),
});

/** How far a running job is. Times are milliseconds. */
export interface JobProgress {
  /** What it is busy with: download, read, prepare, train, evaluate, export. */
  readonly phase: string;
  /** Share of the whole job that is done, 0 to 1. */
  readonly fraction: number;
  /** Epochs completed and planned. */
  readonly epoch: number;
  readonly epochs: number;
  /** Optimizer steps taken and planned. */
  readonly step: number;
  readonly steps: number;
  /** Mean training loss since the epoch began; absent before the first step. */
  readonly loss?: number;
  /** Estimate of the time still needed; absent until there is something to estimate from. */
  readonly remaining_ms?: number;
}

/**
 * What a watched job's stream tells. `job` is the job information with all figures so far: it comes first, and
 * again whenever something of it changes. `failed` is the last event where the job can't be watched further.
 */
export type JobStreamEvent =
  | { readonly event: 'job'; readonly data: z.infer<typeof jobSchema> }
  | { readonly event: 'progress'; readonly data: JobProgress }
  | { readonly event: 'failed'; readonly data: z.infer<typeof detailSchema> };

/** Characters (UTF-16 code units) of a query that one inference call covers: a long query is the work of several. */
export const CHARACTERS_PER_CALL = 5000;

/** What queries count as: each is one inference call, and one more for every further 5,000 characters begun. */
export function inferenceCallsOf(queries: readonly string[]): number {
  return queries.reduce(
    (calls, { length }) => calls + Math.max(1, Math.ceil(length / CHARACTERS_PER_CALL)),
    0,
  );
}
