import * as z from 'zod';
import {
  modelTypeSchema,
  type TrainableType,
  trainableModelSchema,
  trainingConfigSchema,
} from '../contract/index.js';
import { type Operation, operation } from './operation.js';
import type { PageServices } from './page-services.js';
import { createdSchema, noQuery } from './schemas.js';

const installedSchema = z.strictObject({
  data: z.array(z.strictObject({ name: z.string(), type: modelTypeSchema })),
});

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
  return [
    operation({
      method: 'GET',
      path: '/page/models',
      id: 'listInstalledModels',
      tag: 'page',
      summary: 'The pretrained models that answer here',
      input: z.object({ query: noQuery }),
      output: installedSchema,
      failures: [],
      answer: async () => ({ data: await page.installedModels() }),
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
