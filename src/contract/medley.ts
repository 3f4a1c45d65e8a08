/** Medley requests (docs/service.md, "Asking models"). */
import * as z from 'zod';
import { querySchema } from './inference.js';
import { pretrainedNameSchema } from './pretrained.js';

/** Queries of a medley batch (docs/service.md, "Limits"). */
export const MAX_MEDLEY_QUERIES = 50;
/** Models of one medley request that run at the same time (docs/service.md, "Limits"). */
export const MAX_CONCURRENT_MODELS = 2;
/** Models of one medley request: as many as there are pretrained names, so that no request asks for work without end. */
export const MAX_MEDLEY_MODELS = 11;

const modelsSchema = z
  .array(pretrainedNameSchema)
  .min(1, 'give at least one model')
  .max(MAX_MEDLEY_MODELS, { error: `at most ${MAX_MEDLEY_MODELS} models a medley`, abort: true })
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
        message: `${JSON.stringify(name)} is there already, at position ${first}; give each model once`,
      });
    }
  })
  .meta({ uniqueItems: true, description: 'Names of pretrained models, each once.' });

export const medleyRequestSchema: z.ZodType<MedleyRequest> = z.strictObject({
  query: querySchema,
  models: modelsSchema,
});
/** One query to several models (docs/service.md, "Asking models"). */
export interface MedleyRequest {
  /** Any text of at most 100,000 UTF-16 code units, even an empty one. */
  readonly query: string;
  /** Names of 1 to 11 pretrained models, each once. */
  readonly models: readonly string[];
}

export const medleyBatchRequestSchema: z.ZodType<MedleyBatchRequest> = z.strictObject({
  queries: z
    .array(querySchema)
    .min(1, 'give at least one query')
    .max(MAX_MEDLEY_QUERIES, `at most ${MAX_MEDLEY_QUERIES} queries a medley batch`),
  models: modelsSchema,
});
/** Several queries to several models (docs/service.md, "Asking models"). */
export interface MedleyBatchRequest {
  /** 1 to {@link MAX_MEDLEY_QUERIES}; each model's results come in their order. */
  readonly queries: readonly string[];
  /** Names of 1 to 11 pretrained models, each once. */
  readonly models: readonly string[];
}
