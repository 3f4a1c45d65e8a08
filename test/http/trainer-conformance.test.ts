import { describe, expect, it } from 'vitest';
import { statsAfter } from '../jobs/fake-host.js';
import { aRequest } from '../jobs/request.js';
import { aService, type ServiceInTest, UNKNOWN_ID, useCatalogue } from './a-service.js';

/** The specification's trainer, table by table, over HTTP: straight to the handler and through Node's server. */

const JOBS = '/trainer/language/training-jobs';
const MODELS = '/trainer/language/models';

const catalogue = useCatalogue();

const timestamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/;

async function createJob({ ask }: ServiceInTest, body: unknown = aRequest): Promise<string> {
  const { status, body: created } = await ask('POST', JOBS, { body });
  expect(status).toBe(200);
  return created.id;
}

describe.each([
  ['the handler', false],
  ['a server', true],
])('through %s', (_, overSocket) => {
  const start = () => aService(catalogue, { overSocket });

  describe('a model record', () => {
    it('has the documented fields and no other', async () => {
      const service = await start();
      const id = await createJob(service);
      const { status, body } = await service.ask('GET', `${MODELS}/${id}`);
      expect(status).toBe(200);
      expect(body).toEqual({
        data: {
          id,
          app_id: 'acme',
          name: 'reviews',
          training_status: expect.stringMatching(/^(CREATED|QUEUED|RUNNING)$/),
          type: 'binary-text-classification',
          modality: 'language',
          created: expect.stringMatching(timestamp),
        },
      });
    });
  });

  describe('training job information', () => {
    it('has the documented fields and no other', async () => {
      const service = await start();
      const id = await service.aReadyModel();
      const { body } = await service.ask('GET', `${JOBS}/${id}`);
      const model = (await service.ask('GET', `${MODELS}/${id}`)).body.data;
      const { created } = model;
      expect(body).toEqual({ data: { model, training_stats: statsAfter(2), status: 'READY', created } });
    });
  });

  describe('the listings', () => {
    it.each([MODELS, JOBS])('%s come newest first in pages', async (path) => {
      const service = await start();
      const ids = [await createJob(service), await createJob(service), await createJob(service)].reverse();
      const idOf = (item: { id?: string; model?: { id: string } }) => item.id ?? item.model?.id;
      const first = (await service.ask('GET', `${path}?limit=2`)).body;
      expect(first.data.map(idOf)).toEqual(ids.slice(0, 2));
      expect(first.pagination).toEqual({ limit: 2, has_more: true, next_cursor: expect.any(String) });
      const second = (await service.ask('GET', `${path}?limit=2&cursor=${first.pagination.next_cursor}`)).body;
      expect(second.data.map(idOf)).toEqual(ids.slice(2));
      expect(second.pagination).toEqual({ limit: 2, has_more: false, next_cursor: null });
    });

    it.each([
      ['modelType=binary-text-classification', 1],
      ['modelType=multiclass-text-classification', 0],
      ['modelType=multilabel-text-classification', 0],
      ['modelType=named-entity-recognition', 1],
      ['modelType=question-answering', 0],
      ['trainingStatus=CREATED', 0],
      ['trainingStatus=QUEUED', 1],
      ['trainingStatus=RUNNING', 1],
      ['trainingStatus=READY', 0],
      ['trainingStatus=CANCELLED', 0],
      ['trainingStatus=DELETED', 0],
      ['trainingStatus=ERROR', 0],
      ['modelType=binary-text-classification&trainingStatus=RUNNING', 1],
    ])('take %s', async (filter, found) => {
      const service = await start();
      await createJob(service);
      await service.host.nextRun();
      const entities = { ...aRequest.model_config, type: 'sequence-labeling', family: 'Grapefruit' };
      await createJob(service, { ...aRequest, model_config: entities });
      for (const path of [MODELS, JOBS]) {
        const { status, body } = await service.ask('GET', `${path}?${filter}`);
        expect(status).toBe(200);
        expect(body.data).toHaveLength(found);
        expect(body.pagination).toEqual({ limit: 20, has_more: false, next_cursor: null });
      }
    });

    it.each([
      ['modelType=poetry', 'modelType'],
      ['trainingStatus=ready', 'trainingStatus'],
      ['limit=0', 'limit'],
      ['limit=101', 'limit'],
      ['limit=1.5', 'limit'],
      ['limit=many', 'limit'],
      ['limit=', 'limit'],
      ['cursor=nonsense', 'cursor'],
      ['cursor=', 'cursor'],
    ])('refuse %s', async (filter, field) => {
      const { ask } = await start();
      for (const path of [MODELS, JOBS]) {
        const { status, body } = await ask('GET', `${path}?${filter}`);
        expect(status).toBe(422);
        expect(body.detail).toEqual([{ loc: ['query', field], msg: expect.any(String), type: expect.any(String) }]);
      }
    });
  });

  describe('a training job request', () => {
    it('is answered with the id of the model alone', async () => {
      const { ask } = await start();
      const { status, body } = await ask('POST', JOBS, { body: aRequest });
      expect(status).toBe(200);
      expect(body).toEqual({ id: expect.stringMatching(/^[0-9a-f-]{36}$/) });
    });

    it('passes every documented field on to the training', async () => {
      const service = await start();
      const training_config = {
        batch_size: 16,
        learning_rate: 0.001,
        num_epochs: 3,
        language: 'english',
        data_augmentation: true,
        use_pretrained: false,
        preprocessing: { lowercase: false },
      };
      const model_config = { ...aRequest.model_config, preprocessing: { lowercase: false } };
      await createJob(service, { ...aRequest, training_config, model_config });
      const { spec } = await service.host.nextRun();
      expect(spec).toMatchObject({ training_config, model_config, dataset: { url: aRequest.dataset_url } });
    });

    it('may have null for every optional field, as clients write it that write every field', async () => {
      const service = await start();
      const nothing = {
        batch_size: null,
        learning_rate: null,
        num_epochs: null,
        language: null,
        data_augmentation: null,
        use_pretrained: null,
        preprocessing: { lowercase: null },
      };
      const model_config = { ...aRequest.model_config, preprocessing: null };
      await createJob(service, { ...aRequest, model_config, training_config: nothing });
      const { spec } = await service.host.nextRun();
      expect(JSON.parse(JSON.stringify(spec.training_config))).toEqual({ preprocessing: {} });
      expect(JSON.parse(JSON.stringify(spec.model_config))).toEqual(aRequest.model_config);
      expect((await service.ask('POST', JOBS, { body: { ...aRequest, training_config: null } })).status).toBe(200);
    });

    const { dataset_url: _, ...noUrl } = aRequest;
    const model = (change: object) => ({
      ...aRequest,
      model_config: { ...aRequest.model_config, ...change },
    });
    const config = (training_config: object) => ({ ...aRequest, training_config });
    it.each<[string, unknown, (string | number)[]]>([
      ['no dataset_url', noUrl, ['body', 'dataset_url']],
      ['a dataset_url that is none', { ...aRequest, dataset_url: 'reviews.zip' }, ['body', 'dataset_url']],
      ['a file as dataset', { ...aRequest, dataset_url: 'file:///etc/passwd' }, ['body', 'dataset_url']],
      ['no model_config', { dataset_url: aRequest.dataset_url }, ['body', 'model_config']],
      ['a name of 25 characters', model({ name: 'a'.repeat(25) }), ['body', 'model_config', 'name']],
      ['a capital in the name', model({ name: 'Reviews' }), ['body', 'model_config', 'name']],
      ['a ? in the name', model({ name: 'reviews?' }), ['body', 'model_config', 'name']],
      ['an _ in the name', model({ name: 'my_reviews' }), ['body', 'model_config', 'name']],
      ['an unknown type', model({ type: 'poetry' }), ['body', 'model_config', 'type']],
      ['an unknown family', model({ family: 'Mango' }), ['body', 'model_config', 'family']],
      ['another family than its type has', model({ family: 'Grapefruit' }), ['body', 'model_config', 'family']],
      ['an unknown size', model({ size: 'huge' }), ['body', 'model_config', 'size']],
      ['an unknown field', { ...aRequest, colour: 'red' }, ['body']],
      ['an unknown field of model_config', model({ colour: 'red' }), ['body', 'model_config']],
      ['an unknown field of training_config', config({ epochs: 3 }), ['body', 'training_config']],
      ['batch_size 0', config({ batch_size: 0 }), ['body', 'training_config', 'batch_size']],
      ['a batch_size that is text', config({ batch_size: '8' }), ['body', 'training_config', 'batch_size']],
      ['learning_rate 0', config({ learning_rate: 0 }), ['body', 'training_config', 'learning_rate']],
      ['half an epoch', config({ num_epochs: 0.5 }), ['body', 'training_config', 'num_epochs']],
      [
        'preprocessing of two minds',
        {
          ...model({ preprocessing: { lowercase: true } }),
          ...{ training_config: { preprocessing: { lowercase: false } } },
        },
        ['body', 'training_config', 'preprocessing', 'lowercase'],
      ],
    ])('is refused with %s', async (_name, body, loc) => {
      const { ask } = await start();
      const answer = await ask('POST', JOBS, { body });
      expect(answer.status).toBe(422);
      expect(answer.body.detail).toContainEqual({ loc, msg: expect.any(String), type: expect.any(String) });
    });

    it('calls a field that is absent missing', async () => {
      const { ask } = await start();
      const { body } = await ask('POST', JOBS, { body: noUrl });
      expect(body.detail).toEqual([{ loc: ['body', 'dataset_url'], msg: expect.any(String), type: 'missing' }]);
    });

    it.each(['http://127.0.0.1/x.zip', 'http://[::1]/x.zip', 'http://0x7f.1/x.zip', 'https://169.254.169.254/latest'])(
      'may not lead the service to %s',
      async (dataset_url) => {
        const { ask } = await aService(catalogue, { overSocket, trainer: { allowPrivateAddresses: false } });
        const { status, body } = await ask('POST', JOBS, { body: { ...aRequest, dataset_url } });
        expect(status).toBe(422);
        expect(body.detail[0]).toMatchObject({ loc: ['body', 'dataset_url'], type: 'private_address' });
      },
    );

    it.each([
      'https://user:sesame@example.com/x.zip',
      'https://:sesame@example.com/x.zip',
      'https://sesame@example.com/x.zip',
      'HTTP:\\\\user:sesame@example.com',
      'https://user:sesame@[/x.zip',
      'ftp://user:sesame@example.com/x.zip',
    ])('may not hold a password, and is refused without repeating it: %s', async (dataset_url) => {
      const { ask } = await start();
      const { status, body } = await ask('POST', JOBS, { body: { ...aRequest, dataset_url } });
      expect(status).toBe(422);
      expect(body.detail[0]).toMatchObject({ loc: ['body', 'dataset_url'] });
      expect(JSON.stringify(body)).not.toContain('sesame');
    });

    it('for question answering needs the pro tier', async () => {
      const { ask } = await start();
      const body = model({ type: 'question-answering', family: 'Dragonfruit' });
      expect((await ask('POST', JOBS, { body, as: 'pro' })).status).toBe(200);
      const refused = await ask('POST', JOBS, { body, as: 'basic' });
      expect(refused.status).toBe(403);
      expect(refused.body.detail).toEqual([{ loc: ['body'], msg: expect.any(String), type: 'tier' }]);
      expect((await ask('POST', JOBS, { body: aRequest, as: 'basic' })).status).toBe(200);
    });

    it('waits while another job of the account runs', async () => {
      const service = await start();
      const running = await createJob(service);
      await service.host.nextRun();
      const waiting = await createJob(service);
      const statusOf = async (id: string) => (await service.ask('GET', `${JOBS}/${id}`)).body.data.status;
      expect(await statusOf(running)).toBe('RUNNING');
      expect(await statusOf(waiting)).toBe('QUEUED');
    });

    it('is refused with 429 where too many jobs wait', async () => {
      const { ask, host } = await aService(catalogue, { overSocket, trainer: { maxWaitingJobs: 1 } });
      await ask('POST', JOBS, { body: aRequest });
      await host.nextRun();
      await ask('POST', JOBS, { body: aRequest });
      const { status, body } = await ask('POST', JOBS, { body: aRequest });
      expect(status).toBe(429);
      expect(body.detail[0].type).toBe('queue_full');
    });
  });

  describe('DELETE', () => {
    it('of a training job cancels it', async () => {
      const service = await start();
      const id = await createJob(service);
      await service.host.nextRun();
      const { status, body } = await service.ask('DELETE', `${JOBS}/${id}`);
      expect(status).toBe(200);
      expect(body.detail).toEqual([
        { loc: ['path', 'model_id'], msg: expect.stringContaining(id), type: 'training_job.cancelled' },
      ]);
      expect((await service.ask('GET', `${JOBS}/${id}`)).body.data.status).toBe('CANCELLED');
    });

    it('of a training job that has ended is a 409', async () => {
      const service = await start();
      const id = await service.aReadyModel();
      const { status, body } = await service.ask('DELETE', `${JOBS}/${id}`);
      expect(status).toBe(409);
      expect(body.detail[0]).toMatchObject({ loc: ['path', 'model_id'], type: 'transition' });
    });

    it('of a model deletes it, and stops its job', async () => {
      const service = await start();
      const id = await createJob(service);
      const run = await service.host.nextRun();
      const { status, body } = await service.ask('DELETE', `${MODELS}/${id}`);
      expect(status).toBe(200);
      expect(body.detail[0]).toMatchObject({ type: 'model.deleted' });
      expect(run.options.signal.aborted).toBe(true);
      expect((await service.ask('GET', `${MODELS}/${id}`)).body.data.training_status).toBe('DELETED');
      expect((await service.ask('GET', MODELS)).body.data).toEqual([]);
    });
  });

  it.each([
    ['GET', MODELS],
    ['DELETE', MODELS],
    ['GET', JOBS],
    ['DELETE', JOBS],
  ])('%s %s/{model_id} knows neither an unknown id nor that of another account', async (method, path) => {
    const service = await start();
    const id = await createJob(service);
    for (const [asked, as] of [
      [UNKNOWN_ID, 'pro'],
      ['not-an-id', 'pro'],
      [id, 'stranger'],
    ] as const) {
      const { status, body } = await service.ask(method, `${path}/${asked}`, { as });
      expect(status).toBe(404);
      expect(body.detail).toEqual([{ loc: ['path', 'model_id'], msg: expect.any(String), type: 'not_found' }]);
    }
    expect((await service.ask('GET', path, { as: 'stranger' })).body.data).toEqual([]);
  });
});
