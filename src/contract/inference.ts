/** Inference requests and results (docs/service.md, "Asking models"). */
import * as z from 'zod';

/** Queries of a batch (docs/service.md, "Limits"). */
export const MAX_BATCH_QUERIES = 20;

export const querySchema = z.string();
export const batchQueriesSchema = z
  .array(querySchema)
  .min(1, 'give at least one query')
  .max(MAX_BATCH_QUERIES, `at most ${MAX_BATCH_QUERIES} queries a batch`);

export const inferenceResultSchema = z.strictObject({
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
});
/**
 * Labels with their scores, in the same order; highest first in classification. Entity labelling adds the
 * spans found: `query.slice(start, start + token.length) === token` for each.
 */
export type InferenceResult = z.infer<typeof inferenceResultSchema>;

export const answerViews = ['labels', 'entities', 'passages'] as const;
/** How results are best shown to people: labels by their scores, entities in their text, or passages by rank. */
export type AnswerView = (typeof answerViews)[number];

export const metadataSchema = z.strictObject({
  model_inference_time_ms: z.number().meta({ description: 'What the models took, in milliseconds.' }),
});
/** What comes with every inference response; the time is milliseconds. */
export type InferenceMetadata = z.infer<typeof metadataSchema>;

/** What an inference response wraps its data in. */
export interface InferenceResponse<Data> {
  readonly data: Data;
  readonly metadata: InferenceMetadata;
}

/** How much has been asked: every query of a batch is one call, and so is a query to several models at once. */
export interface InferenceUsage {
  readonly inference_calls: number;
}
