import { ResultAsync } from 'neverthrow';
import * as z from 'zod';
import { modelConfigSchema, modelTypeSchema, trainingConfigSchema } from '../contract/index.js';
import { type Operation, operation } from './operation.js';
import type { PageServices } from './page-services.js';
import { createdSchema } from './schemas.js';

/** As the documented request, with an upload where that has a dataset_url. */
const uploadedRequestSchema = z.strictObject({
  upload: z.string(),
  model_config: modelConfigSchema,
  training_config: trainingConfigSchema.optional(),
});

const installedSchema = z.strictObject({
  data: z.array(z.strictObject({ name: z.string(), type: modelTypeSchema })),
});

/** What the page asks for in JSON beyond the documented operations; not in the OpenAPI document. */
export function pageOperations(page: PageServices): readonly Operation[] {
  return [
    operation({
      method: 'GET',
      path: '/page/models',
      id: 'listInstalledModels',
      tag: 'page',
      summary: 'The pretrained models that answer here',
      input: z.object({}),
      output: installedSchema,
      answer: () => ResultAsync.fromSafePromise(page.installedModels().then((data) => ({ data }))),
    }),
    operation({
      method: 'POST',
      path: '/page/training-jobs',
      id: 'createTrainingJobFromUpload',
      tag: 'page',
      summary: 'Train a custom model on an uploaded dataset',
      input: z.object({ body: uploadedRequestSchema }),
      output: createdSchema,
      answer: (_, { account, signal }, { body: { upload, ...request } }) =>
        page.uploads.train(account, upload, request, { signal }),
    }),
  ];
}
