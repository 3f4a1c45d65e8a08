import * as z from 'zod';
import {
  type Account,
  APP_ID,
  MAX_BATCH_QUERIES,
  MAX_MEDLEY_MODELS,
  MAX_MEDLEY_QUERIES,
  MAX_QUERY_CHARACTERS,
  tiers,
} from './constants.js';
import type { FieldsOf } from './validate.js';

export const accountSchema = z.strictObject({
  app_id: z.string().regex(APP_ID, 'an app_id has 1 to 50 printable ASCII characters'),
  tier: z.enum(tiers),
} satisfies FieldsOf<Account>);

/** Queries to models: requests, limits and results (docs/service.md, "Running models"). */

export const pretrainedNameSchema = z.string().min(1, 'the name of the model is empty');
export const querySchema = z.string().max(MAX_QUERY_CHARACTERS, {
  // Made when it is needed: the first `toLocaleString` of a process takes 10 ms.
  error: () =>
    `at most ${MAX_QUERY_CHARACTERS.toLocaleString('en-US')} UTF-16 code units; ask about parts of the text instead`,
});
export const batchQueriesSchema = z
  .array(querySchema)
  .min(1, 'give at least one query')
  .max(MAX_BATCH_QUERIES, `at most ${MAX_BATCH_QUERIES} queries per batch`);

/**
 * The answer of one model to one query (docs/service.md, "Result"). Its lists have the same length and order: by
 * descending score or, for entities, from left to right.
 */
export interface InferenceResult {
  /** Classification: every label. Entities: the type of each entity found. Questions: up to 10 passages, best first. */
  readonly labels: string[];
  /** The probability of each label, 0 to 1. For a multilabel model, above 0.5 means that the label applies. */
  readonly scores: number[];
  /** Entities only: the text of each entity, as in the query. */
  readonly tokens?: string[] | undefined;
  /**
   * Entities only: where each entity starts, in UTF-16 code units from 0, so that
   * `query.slice(start, start + token.length) === token`.
   */
  readonly token_start_positions?: number[] | undefined;
}

export const inferenceResultSchema: z.ZodType<InferenceResult> = z.lazy(() =>
  z.strictObject({
    labels: z.array(z.string()).meta({
      description: 'Classification: the labels, highest score first; entities: their types; questions: passages.',
    }),
    scores: z.array(z.number()).meta({ description: 'One for each label, in the same order.' }),
    tokens: z.array(z.string()).optional().meta({ description: 'Entities: the text of each entity, as in the query.' }),
    token_start_positions: z.array(z.int()).optional().meta({
      description: 'Entities: where each entity starts in the query, in UTF-16 code units from 0.',
    }),
  } satisfies FieldsOf<InferenceResult>),
);

/** The metadata of every inference response (docs/service.md, "Result"). */
export interface InferenceMetadata {
  /** Milliseconds that the model took, without loading and waiting. For a medley: the sum over its models. */
  readonly model_inference_time_ms: number;
  /**
   * The positions, from 0, of the queries that are too long for the model, which read only the beginning of each; `[0]`
   * for a single query that is too long. Absent if all were read completely. For a medley: the queries that are too
   * long for at least one of its models.
   */
  readonly truncated?: readonly number[] | undefined;
  /** The id of the model that answered, if the request used a name such as `support@production`. */
  readonly model_id?: string | undefined;
}

export const metadataSchema: z.ZodType<InferenceMetadata> = z.lazy(() =>
  z.strictObject({
    model_inference_time_ms: z.number().meta({ description: 'The time that the models took, in milliseconds.' }),
    truncated: z.array(z.int()).optional().meta({
      description: 'The positions of the queries that were too long for the model; it read only the beginning of each.',
    }),
    model_id: z.string().optional().meta({
      description: 'The id of the model that answered, if the request used a name such as support@production.',
    }),
  } satisfies FieldsOf<InferenceMetadata>),
);

/** The response to an inference request. */
export interface InferenceResponse<Data> {
  /** A result, the results of a batch in the order of its queries, or either of these by model. */
  readonly data: Data;
  readonly metadata: InferenceMetadata;
}

/** The usage of an account (docs/service.md, "Usage"). */
export interface InferenceUsage {
  /** Number of answered queries. Each query of a batch is one call, and so is a query to several models at once. */
  readonly inference_calls: number;
}

const modelsSchema = z.lazy(() =>
  z
    .array(pretrainedNameSchema)
    .min(1, 'give at least one model')
    .max(MAX_MEDLEY_MODELS, { error: `at most ${MAX_MEDLEY_MODELS} models per medley`, abort: true })
    .superRefine((names, context) => {
      const positions = new Map<string, number>();
      for (const [position, name] of names.entries()) {
        const first = positions.get(name);
        if (first === undefined) {
          positions.set(name, position);
          continue;
        }
        context.addIssue({
          code: 'custom',
          path: [position],
          message: `${JSON.stringify(name)} is already at position ${first}; give each model once`,
        });
      }
    })
    .meta({ uniqueItems: true, description: 'The names of pretrained models, without repetition.' }),
);

export const medleyRequestSchema: z.ZodType<MedleyRequest> = z.lazy(() =>
  z.strictObject({
    query: querySchema.meta({ description: 'The text.' }),
    models: modelsSchema,
  }),
);
/** One query to several models (docs/service.md, "Running models"). */
export interface MedleyRequest {
  /** Any text of at most 100,000 UTF-16 code units, or an empty one. */
  readonly query: string;
  /** The names of 1 to 11 pretrained models, each once. */
  readonly models: readonly string[];
}

export const medleyBatchRequestSchema: z.ZodType<MedleyBatchRequest> = z.lazy(() =>
  z.strictObject({
    queries: z
      .array(querySchema)
      .min(1, 'give at least one query')
      .max(MAX_MEDLEY_QUERIES, `at most ${MAX_MEDLEY_QUERIES} queries per medley batch`)
      .meta({ description: "The texts. Each model's results are in their order." }),
    models: modelsSchema,
  }),
);
/** Several queries to several models (docs/service.md, "Running models"). */
export interface MedleyBatchRequest {
  /** 1 to {@link MAX_MEDLEY_QUERIES} queries. Each model's results are in their order. */
  readonly queries: readonly string[];
  /** The names of 1 to 11 pretrained models, each once. */
  readonly models: readonly string[];
}
