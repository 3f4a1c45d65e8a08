/** Inference requests and results (docs/service.md, "Asking models"). */
import * as z from 'zod';
import type { FieldsOf } from './fields.js';
import { MAX_BATCH_QUERIES, MAX_QUERY_CHARACTERS } from './query-limits.js';

export const querySchema = z.string().max(MAX_QUERY_CHARACTERS, {
  error: `at most ${MAX_QUERY_CHARACTERS.toLocaleString('en-US')} UTF-16 code units; ask about parts of the text instead`,
});
export const batchQueriesSchema = z
  .array(querySchema)
  .min(1, 'give at least one query')
  .max(MAX_BATCH_QUERIES, `at most ${MAX_BATCH_QUERIES} queries a batch`);

/**
 * The answer of one model to one query (docs/service.md, "Result"). Its lists have the same length and order: the highest
 * score first, entities from left to right.
 */
export interface InferenceResult {
  /** Classification: every label. Entity labelling: the type of each entity found. Questions: the 10 best passages. */
  readonly labels: string[];
  /** One a label, 0 to 1: how probable it is. Of a multilabel model, above 0.5 means yes. */
  readonly scores: number[];
  /** Entity labelling only: the text of each entity, as it stands in the query. */
  readonly tokens?: string[] | undefined;
  /**
   * Entity labelling only: where each entity starts, in UTF-16 code units from 0, so that
   * `query.slice(start, start + token.length) === token`.
   */
  readonly token_start_positions?: number[] | undefined;
}

export const inferenceResultSchema: z.ZodType<InferenceResult> = z.strictObject({
  labels: z.array(z.string()).meta({
    description:
      'Classification: the labels, highest score first; entities: their types; questions: passages.',
  }),
  scores: z.array(z.number()).meta({ description: 'One a label, in the same order.' }),
  tokens: z
    .array(z.string())
    .optional()
    .meta({ description: 'Entity labelling: the text of each entity, as it stands in the query.' }),
  token_start_positions: z.array(z.int()).optional().meta({
    description: 'Entity labelling: where each entity starts in the query, in UTF-16 code units from 0.',
  }),
} satisfies FieldsOf<InferenceResult>);

/** How results are best shown to people: labels by their scores, entities in their text, or passages by rank. */
export type AnswerView = 'labels' | 'entities' | 'passages';
export const answerViews = ['labels', 'entities', 'passages'] as const satisfies readonly AnswerView[];

/** What comes with every inference response (docs/service.md, "Result"). */
export interface InferenceMetadata {
  /** Milliseconds that the model took, loading and waiting left out; of a medley, the sum over its models. */
  readonly model_inference_time_ms: number;
  /**
   * Positions of the queries of which only the beginning was read, since they are longer than the model reads; 0 for a
   * single query. Absent if all were read whole. Of a medley: by one of its models at least.
   */
  readonly truncated?: readonly number[] | undefined;
}

export const metadataSchema: z.ZodType<InferenceMetadata> = z.strictObject({
  model_inference_time_ms: z.number().meta({ description: 'What the models took, in milliseconds.' }),
  truncated: z.array(z.int()).optional().meta({
    description: 'Positions of the queries that are longer than a model reads: only their beginning counted.',
  }),
} satisfies FieldsOf<InferenceMetadata>);

/** What an inference response wraps its data in. */
export interface InferenceResponse<Data> {
  /** A result, the results of a batch in the order of its queries, or either by model. */
  readonly data: Data;
  /** How long the models took. */
  readonly metadata: InferenceMetadata;
}

/** How much has been asked (docs/service.md, "Usage"). */
export interface InferenceUsage {
  /** Queries answered: each query of a batch is one call, and so is a query to several models at once. */
  readonly inference_calls: number;
}
