import * as z from 'zod';
import { listFilterSchema, trainingRequestSchema } from '../contract/index.js';
import type { JobInformation } from '../trainer/index.js';
import { type Operation, operation } from './operation.js';
import { describeJobError } from './refusal.js';
import {
  createdSchema,
  detailSchema,
  jobAnswerSchema,
  jobListSchema,
  type jobSchema,
  modelAnswerSchema,
  modelListSchema,
  modelPathSchema,
} from './schemas.js';

const one = z.object({ path: modelPathSchema });
const list = z.object({ query: listFilterSchema });

export const trainerOperations: readonly Operation[] = [
  operation({
    method: 'GET',
    path: '/trainer/language/models',
    id: 'listModels',
    tag: 'trainer',
    summary: 'Custom models, newest first',
    input: list,
    output: modelListSchema,
    answer: ({ trainer }, { account }, { query }) => trainer(account).listModels(query),
  }),
  operation({
    method: 'GET',
    path: '/trainer/language/models/{model_id}',
    id: 'getModel',
    tag: 'trainer',
    summary: 'A custom model',
    input: one,
    output: modelAnswerSchema,
    answer: ({ trainer }, { account }, { path }) =>
      trainer(account)
        .getModel(path.model_id)
        .map((data) => ({ data })),
  }),
  operation({
    method: 'DELETE',
    path: '/trainer/language/models/{model_id}',
    id: 'deleteModel',
    tag: 'trainer',
    summary: 'Delete a custom model; stops its training job',
    input: one,
    output: detailSchema,
    answer: ({ trainer }, { account }, { path }) =>
      trainer(account)
        .deleteModel(path.model_id)
        .map(() => done('model.deleted', `model ${path.model_id} is deleted`)),
  }),
  operation({
    method: 'GET',
    path: '/trainer/language/training-jobs',
    id: 'listTrainingJobs',
    tag: 'trainer',
    summary: 'Training jobs, newest first',
    input: list,
    output: jobListSchema,
    answer: ({ trainer }, { account }, { query }) =>
      trainer(account)
        .listTrainingJobs(query)
        .map(({ data, pagination }) => ({ data: data.map(documented), pagination })),
  }),
  operation({
    method: 'POST',
    path: '/trainer/language/training-jobs',
    id: 'createTrainingJob',
    tag: 'trainer',
    summary: 'Train a custom model; question answering needs the pro tier',
    input: z.object({ body: trainingRequestSchema }),
    output: createdSchema,
    answer: ({ trainer }, { account, signal }, { body }) =>
      trainer(account).createTrainingJob(body, { signal }),
  }),
  operation({
    method: 'GET',
    path: '/trainer/language/training-jobs/{model_id}',
    id: 'getTrainingJob',
    tag: 'trainer',
    summary: 'Where a training job stands',
    input: one,
    output: jobAnswerSchema,
    answer: ({ trainer }, { account }, { path }) =>
      trainer(account)
        .getTrainingJob(path.model_id)
        .map((job) => ({ data: documented(job) })),
  }),
  operation({
    method: 'DELETE',
    path: '/trainer/language/training-jobs/{model_id}',
    id: 'cancelTrainingJob',
    tag: 'trainer',
    summary: 'Cancel a training job',
    input: one,
    output: detailSchema,
    answer: ({ trainer }, { account }, { path }) =>
      trainer(account)
        .cancelTrainingJob(path.model_id)
        .map(() => done('training_job.cancelled', `training job ${path.model_id} is cancelled`)),
  }),
];

/** The documented fields; the library's own beside them only where they tell something. */
export function documented({ warnings, error, ...job }: JobInformation): z.infer<typeof jobSchema> {
  return {
    ...job,
    ...(error && { error: describeJobError(error) }),
    ...(warnings.length > 0 && {
      warnings: warnings.map(({ kind, count, message }) => ({ kind, count, message })),
    }),
  };
}

function done(type: string, msg: string): z.infer<typeof detailSchema> {
  return { detail: [{ loc: ['path', 'model_id'], msg, type }] };
}
