import * as z from 'zod';
import {
  type AnswerView,
  type TrainableType,
  trainableModelSchema,
  trainingConfigSchema,
} from '../contract/index.js';
import { familyOfType } from '../families/index.js';
import { type Operation, operation } from './operation.js';
import type { PageServices } from './page-services.js';
import { createdSchema, noQuery, pageModelsSchema } from './schemas.js';

/**
 * What the page asks for in JSON beyond the service's operations; not in the OpenAPI document.
 * @param types that can be trained.
 */
export function pageOperations(page: PageServices, types: readonly TrainableType[]): readonly Operation[] {
  /** As the training request, with an upload where that has a dataset_url. */
  const uploadedRequest = z.strictObject({
    upload: z.string(),
    model_config: trainableModelSchema(types),
    training_config: trainingConfigSchema.optional(),
  });
  const answer_views = answerViewsOf(types);
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

function answerViewsOf(types: readonly TrainableType[]): Readonly<Record<string, AnswerView>> {
  return Object.fromEntries(
    types.flatMap(({ type }) => {
      const view = familyOfType(type)?.answerView;
      return view === undefined ? [] : [[type, view]];
    }),
  );
}
