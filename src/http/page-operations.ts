import * as z from 'zod';
import {
  type AnswerView,
  documentedModelTypes,
  querySchema,
  trainableModelSchema,
  trainingConfigSchema,
} from '../contract/index.js';
import { familyOfType } from '../families/index.js';
import { inferenceCallsOf } from './inference-calls.js';
import { type Operation, operation } from './operation.js';
import type { PageServices } from './page-services.js';
import { createdSchema, explanationSchema, noQuery, pageModelsSchema } from './schemas.js';

/**
 * What the page asks for in JSON beyond the service's operations; not in the OpenAPI document.
 */
export function pageOperations(page: PageServices): readonly Operation[] {
  /** As the training request, with an upload where that has a dataset_url. */
  const uploadedRequest = z.strictObject({
    upload: z.string(),
    model_config: trainableModelSchema,
    training_config: trainingConfigSchema.optional(),
  });
  const answer_views = answerViews;
  return [
    operation({
      method: 'GET',
      path: '/page/models',
      id: 'listInstalledModels',
      tag: 'page',
      summary: 'The pretrained models that answer here, and how answers are shown',
      input: z.object({ query: noQuery }),
      output: pageModelsSchema,
      failures: [],
      answer: async () => ({ data: await page.installedModels(), answer_views }),
    }),
    operation({
      method: 'POST',
      path: '/page/explanations',
      id: 'explainAnswer',
      tag: 'page',
      summary: 'An answer of a model, and which words moved it',
      input: z.object({ query: noQuery, body: explanationRequest }),
      output: explanationSchema,
      failures: ['not_found', 'model_not_ready', 'model_download'],
      inferenceCalls: ({ body }) => EXPLANATION_CALLS * inferenceCallsOf([body.query]),
      answer: (_, { account, signal }, { body: { model, query, label } }) =>
        page.explain(account, model, query, { signal, label }),
    }),
    operation({
      method: 'POST',
      path: '/page/training-jobs',
      id: 'createTrainingJobFromUpload',
      tag: 'page',
      summary: 'Train a custom model on an uploaded dataset',
      input: z.object({ query: noQuery, body: uploadedRequest }),
      output: createdSchema,
      failures: ['tier', 'queue_full'],
      answer: (_, { account, signal }, { body: { upload, ...request } }) =>
        page.uploads.train(account, upload, request, { signal }),
    }),
  ];
}

/** What an explanation counts as: its model reads the text once for each word. */
const EXPLANATION_CALLS = 10;

/** A model by its path below /predictor/language. */
const explanationRequest = z.strictObject({
  model: z.string(),
  query: querySchema,
  label: z.string().optional(),
});

const answerViews: Readonly<Record<string, AnswerView>> = Object.fromEntries(
  documentedModelTypes.map((type) => [type, familyOfType(type).answerView]),
);
