/** The documented inference requests and results (spec, "Inference result object"). */
import * as z from 'zod';

/** Spec, "Limits": queries per batch. */
export const MAX_BATCH_QUERIES = 20;

export const querySchema = z.string();
export const batchQueriesSchema = z
  .array(querySchema)
  .min(1, 'give at least one query')
  .max(MAX_BATCH_QUERIES, `at most ${MAX_BATCH_QUERIES} queries a batch`);

export const inferenceResultSchema = z.strictObject({
  labels: z.array(z.string()),
  scores: z.array(z.number()),
  tokens: z.array(z.string()).optional(),
  token_start_positions: z.array(z.int()).optional(),
});
/**
 * Labels with their scores, in the same order; highest first in classification. Entity labelling adds the
 * spans found: `query.slice(start, start + token.length) === token` for each.
 */
export type InferenceResult = z.infer<typeof inferenceResultSchema>;

export const metadataSchema = z.strictObject({ model_inference_time_ms: z.number() });
/** What comes with every inference response; the time is milliseconds. */
export type InferenceMetadata = z.infer<typeof metadataSchema>;

/** The documented envelope of an inference response. */
export interface InferenceResponse<Data> {
  readonly data: Data;
  readonly metadata: InferenceMetadata;
}

/** How much has been asked: every query of a batch is one call, and so is a query to several models at once. */
export interface InferenceUsage {
  readonly inference_calls: number;
}
