import * as z from 'zod';
import { listFilterSchema, orThrow, trainingRequestSchema } from '../../contract/index.js';
import { jobAnswer } from '../jobs.js';
import { type Route, route } from '../route.js';
import {
  createdSchema,
  detailSchema,
  idempotencySchema,
  jobAnswerSchema,
  jobListSchema,
  modelAnswerSchema,
  modelListSchema,
  modelPathSchema,
  noQuery,
} from '../schemas.js';

const one = z.object({ path: modelPathSchema, query: noQuery });

export function trainerRoutes(): readonly Route[] {
  const list = z.object({ query: listFilterSchema });
  return [
    route({
      method: 'GET',
      path: '/trainer/language/models',
      id: 'listModels',
      tag: 'trainer',
      summary: 'List custom models, newest first',
      input: list,
      output: modelListSchema,
      answer: ({ trainer }, { account }, { query }) => orThrow(trainer(account).listModels(query)),
    }),
    route({
      method: 'GET',
      path: '/trainer/language/models/{model_id}',
      id: 'getModel',
      tag: 'trainer',
      summary: 'Get a custom model',
      input: one,
      output: modelAnswerSchema,
      failures: ['not_found'],
      answer: async ({ trainer }, { account }, { path }) => ({
        data: await orThrow(trainer(account).getModel(path.model_id)),
      }),
    }),
    route({
      method: 'DELETE',
      path: '/trainer/language/models/{model_id}',
      id: 'deleteModel',
      tag: 'trainer',
      summary: 'Delete a custom model; stops its training job',
      input: one,
      output: detailSchema,
      failures: ['not_found', 'model_in_use'],
      answer: async ({ trainer, drift }, { account }, { path }) => {
        await orThrow(trainer(account).deleteModel(path.model_id));
        drift?.forget(account.app_id, path.model_id);
        return done('model.deleted', `model ${path.model_id} is deleted`);
      },
    }),
    route({
      method: 'GET',
      path: '/trainer/language/training-jobs',
      id: 'listTrainingJobs',
      tag: 'trainer',
      summary: 'List training jobs, newest first',
      input: list,
      output: jobListSchema,
      answer: async ({ trainer }, { account }, { query }) => {
        const { data, pagination } = await orThrow(trainer(account).listTrainingJobs(query));
        return { data: data.map(jobAnswer), pagination };
      },
    }),
    route({
      method: 'POST',
      path: '/trainer/language/training-jobs',
      id: 'createTrainingJob',
      tag: 'trainer',
      summary: 'Train a custom model; question answering needs the pro tier',
      input: z.object({ query: noQuery, header: idempotencySchema, body: trainingRequestSchema }),
      output: createdSchema,
      failures: ['tier', 'queue_full'],
      answer: ({ trainer }, { account, signal }, { header: { 'idempotency-key': key }, body }) =>
        orThrow(
          trainer(account).createTrainingJob(body, {
            signal,
            ...(key !== undefined && { idempotencyKey: key }),
          }),
        ),
    }),
    route({
      method: 'GET',
      path: '/trainer/language/training-jobs/{model_id}',
      id: 'getTrainingJob',
      tag: 'trainer',
      summary: 'Get the state of a training job',
      input: one,
      output: jobAnswerSchema,
      failures: ['not_found'],
      answer: async ({ trainer }, { account }, { path }) => ({
        data: jobAnswer(await orThrow(trainer(account).getTrainingJob(path.model_id))),
      }),
    }),
    route({
      method: 'DELETE',
      path: '/trainer/language/training-jobs/{model_id}',
      id: 'cancelTrainingJob',
      tag: 'trainer',
      summary: 'Cancel a training job',
      input: one,
      output: detailSchema,
      failures: ['not_found', 'transition'],
      answer: async ({ trainer }, { account }, { path }) => {
        await orThrow(trainer(account).cancelTrainingJob(path.model_id));
        return done('training_job.cancelled', `training job ${path.model_id} is cancelled`);
      },
    }),
  ];
}

function done(type: string, msg: string): z.infer<typeof detailSchema> {
  return { detail: [{ loc: ['path', 'model_id'], msg, type }] };
}
