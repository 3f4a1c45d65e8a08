import createClient from 'openapi-fetch';
import type { paths } from './service.js';

/**
 * A client's program, written against types that openapi-typescript makes of the served document: `./service.js` is there
 * only while generated-client.test.ts type-checks this file.
 */

export interface Setting {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly datasetUrl: string;
}

/** Trains a model, waits for it, asks it, deletes it. @returns what the service answered on the way. */
export async function createWaitPredictDelete({ baseUrl, apiKey, datasetUrl }: Setting) {
  const client = createClient<paths>({ baseUrl, headers: { 'x-api-key': apiKey } });

  const created = await client.POST('/trainer/language/training-jobs', {
    body: {
      dataset_url: datasetUrl,
      model_config: { name: 'reviews', type: 'binary-text-classification', family: 'Papaya', size: 'mini' },
      training_config: {
        batch_size: 16,
        num_epochs: 2,
        learning_rate: 1e-3,
        use_pretrained: false,
        language: 'german', // learns a small vocabulary from the texts
      },
    },
  });
  if (created.data === undefined) throw new Error(created.error.detail.map(({ msg }) => msg).join('; '));
  const params = { path: { model_id: created.data.id } };

  const waiting = ['CREATED', 'QUEUED', 'RUNNING'];
  let job = await client.GET('/trainer/language/training-jobs/{model_id}', { params });
  while (job.data !== undefined && waiting.includes(job.data.data.status)) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    job = await client.GET('/trainer/language/training-jobs/{model_id}', { params });
  }
  const losses: number[] | undefined = job.data?.data.training_stats.metrics.training.loss;

  const one = await client.POST('/predictor/language/model/{model_id}', {
    params,
    body: { query: 'the room was lovely' },
  });
  const [label]: string[] = one.data?.data.labels ?? [];
  const several = await client.POST('/batch-predictor/language/model/{model_id}', {
    params,
    body: { queries: ['it is a joy', 'it broke at once'] },
  });

  const list = await client.GET('/trainer/language/models', {
    params: { query: { modelType: 'binary-text-classification', trainingStatus: 'READY' } },
  });
  const deleted = await client.DELETE('/trainer/language/models/{model_id}', { params });
  const gone = await client.POST('/predictor/language/model/{model_id}', { params, body: { query: 'a' } });

  return {
    status: job.data?.data.status,
    losses,
    label,
    answers: several.data?.data.length,
    listed: list.data?.data.map(({ name }) => name),
    deleted: deleted.data?.detail.map(({ type }) => type),
    gone: { status: gone.response.status, detail: gone.error?.detail },
  };
}
