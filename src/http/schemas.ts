/** The documented envelopes of requests and answers around the objects of the contract. */
import * as z from 'zod';
import {
  inferenceResultSchema,
  metadataSchema,
  modelRecordSchema,
  paginationSchema,
  trainingJobInformationSchema,
} from '../contract/index.js';

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

export const modelPathSchema = z.object({ model_id: z.string() });
export const pretrainedPathSchema = z.object({ model_name: z.string().meta({ example: 'customer-review' }) });

export const createdSchema = z.strictObject({ id: z.string() });
export const modelAnswerSchema = z.strictObject({ data: modelRecordSchema });
export const modelListSchema = z.strictObject({
  data: z.array(modelRecordSchema),
  pagination: paginationSchema,
});

/** The documented information, and why a job failed or what was noticed in its dataset, where there is such. */
export const jobSchema = trainingJobInformationSchema.extend({
  error: z
    .object({ code: z.string(), message: z.string() })
    .optional()
    .meta({ description: 'Why the job ended in ERROR.' }),
  warnings: z
    .array(z.object({ kind: z.string(), count: z.int(), message: z.string() }))
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
