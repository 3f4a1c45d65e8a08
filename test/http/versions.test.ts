import { describe, expect, it } from 'vitest';
import { aService, type ServiceInTest, UNKNOWN_ID, useCatalogue } from './a-service.js';

const NAME = 'support@production';
const PATH = `/versions/${NAME}`;

const catalogue = useCatalogue();

async function twoModels(options = {}): Promise<ServiceInTest & { readonly ids: readonly [string, string] }> {
  const service = await aService(catalogue, options);
  const first = await service.aReadyModel();
  return { ...service, ids: [first, await service.aReadyModel()] };
}

describe('the routes under /versions', () => {
  it('promote, roll back, compare and delete, also through a server and when they are repeated', async () => {
    const { ask, ids } = await twoModels({ overSocket: true });
    const [first, second] = ids;
    expect(await ask('GET', '/versions')).toMatchObject({ status: 200, body: { data: [] } });
    const promoted = await ask('POST', `${PATH}/promote`, { body: { model_id: first } });
    expect(promoted).toMatchObject({ status: 200, body: { data: { name: NAME, model_id: first, shadow: null } } });
    for (let time = 0; time < 2; time += 1) {
      const { body } = await ask('POST', `${PATH}/promote`, { body: { model_id: second } });
      expect(body.data).toMatchObject({ model_id: second, previous_model_id: first });
    }
    for (let time = 0; time < 2; time += 1) {
      const { body } = await ask('POST', `${PATH}/rollback`, { body: { from: second } });
      expect(body.data).toMatchObject({ model_id: first, previous_model_id: null });
      expect(body.data.history).toHaveLength(3);
    }
    for (let time = 0; time < 2; time += 1) {
      const { body } = await ask('POST', `${PATH}/shadow`, { body: { model_id: second } });
      expect(body.data.shadow).toMatchObject({ model_id: second, asked: 0, dropped: 0 });
    }
    expect((await ask('GET', encodeURI(PATH))).body.data.shadow.model_id).toBe(second);
    expect((await ask('GET', '/versions')).body.data).toHaveLength(1);
    for (let time = 0; time < 2; time += 1) {
      expect((await ask('DELETE', `${PATH}/shadow`)).body.data.shadow).toBeNull();
    }
    expect(await ask('DELETE', PATH)).toMatchObject({
      status: 200,
      body: { detail: [{ loc: ['path', 'version'], type: 'version.deleted' }] },
    });
    expect((await ask('DELETE', PATH)).status).toBe(404);
  });

  it('are for any tier, with a key, and each account sees its own names', async () => {
    const { ask, ids } = await twoModels();
    await ask('POST', `${PATH}/promote`, { body: { model_id: ids[0] } });
    expect((await ask('GET', '/versions', { as: null })).status).toBe(401);
    expect((await ask('GET', '/versions', { as: 'basic' })).body).toEqual({ data: [] });
    expect((await ask('GET', PATH, { as: 'stranger' })).status).toBe(404);
    const foreign = await ask('POST', `${PATH}/promote`, { as: 'stranger', body: { model_id: ids[0] } });
    expect(foreign).toMatchObject({
      status: 404,
      body: { detail: [{ loc: ['body', 'model_id'], type: 'not_found' }] },
    });
    const asked = await ask('POST', `/predictor/language/model/${NAME}`, { as: 'stranger', body: { query: 'x' } });
    expect(asked.status).toBe(404);
  });

  it('refuse what is wrong with 404, 409 or 422, and say where', async () => {
    const { ask, ids, host } = await twoModels();
    const [first, second] = ids;
    const waiting = (await ask('POST', '/trainer/language/training-jobs', { body: trainingRequest })).body.id;
    await host.nextRun();
    await ask('POST', `${PATH}/promote`, { body: { model_id: first } });
    const refusals = [
      ['GET', '/versions/support@staging', undefined, 404, 'not_found', ['path', 'version']],
      ['POST', '/versions/support@staging/rollback', { from: first }, 404, 'not_found', ['path', 'version']],
      ['POST', `${PATH}/promote`, { model_id: UNKNOWN_ID }, 404, 'not_found', ['body', 'model_id']],
      ['POST', `${PATH}/promote`, { model_id: waiting }, 409, 'model_not_ready', ['body', 'model_id']],
      ['POST', `${PATH}/promote`, { model: first }, 422, 'missing', ['body', 'model_id']],
      ['POST', '/versions/Support/promote', { model_id: first }, 422, 'invalid_format', ['path', 'version']],
      ['POST', `${PATH}/rollback`, { from: first }, 409, 'rollback', ['path', 'version']],
      ['POST', `${PATH}/rollback`, { from: second }, 409, 'rollback', ['path', 'version']],
      ['POST', `${PATH}/rollback`, {}, 422, 'missing', ['body', 'from']],
      ['POST', `${PATH}/shadow`, { model_id: first }, 422, 'same_model', ['body', 'model_id']],
    ] as const;
    for (const [method, path, body, status, type, loc] of refusals) {
      const answer = await ask(method, path, body && { body });
      expect([path, answer.status, answer.body.detail[0]]).toMatchObject([path, status, { type, loc }]);
    }
    expect((await ask('PUT', PATH)).status).toBe(405);
    expect((await ask('GET', '/versions?limit=3')).status).toBe(422);
  });

  it('are not in the OpenAPI document, and not there without versions', async () => {
    const { ask } = await aService(catalogue, { handler: { versions: undefined } });
    expect((await ask('GET', '/versions')).status).toBe(404);
    expect(Object.keys((await ask('GET', '/openapi.json')).body.paths)).not.toContain('/versions');
  });
});

const trainingRequest = {
  dataset_url: 'https://example.com/reviews.zip',
  model_config: { name: 'reviews', type: 'binary-text-classification', family: 'Papaya', size: 'mini' },
};

describe('the documented routes', () => {
  it('take a name in place of the id of a model that is asked, and say which model answered', async () => {
    const { ask, ids } = await twoModels();
    const [first, second] = ids;
    await ask('POST', `${PATH}/promote`, { body: { model_id: first } });
    const one = await ask('POST', `/predictor/language/model/${NAME}`, { body: { query: 'fine' } });
    const byId = await ask('POST', `/predictor/language/model/${first}`, { body: { query: 'fine' } });
    expect(one.body.data).toEqual(byId.body.data);
    expect(one.body.metadata).toEqual({ model_inference_time_ms: expect.any(Number), model_id: first });
    expect(byId.body.metadata).toEqual({ model_inference_time_ms: expect.any(Number) });
    await ask('POST', `${PATH}/promote`, { body: { model_id: second } });
    const queries = ['fine', 'bad'];
    const batch = await ask('POST', `/batch-predictor/language/model/${NAME}`, { body: { queries } });
    expect(batch).toMatchObject({ status: 200, body: { metadata: { model_id: second } } });
    const page = await ask('POST', '/page/explanations', { body: { model: `model/${NAME}`, query: 'fine' } });
    expect(page).toMatchObject({ status: 200, body: { metadata: { model_id: second } } });
    expect((await ask('GET', `/trainer/language/models/${NAME}`)).status).toBe(404);
  });

  it('refuse to delete a model that a name points to', async () => {
    const { ask, ids } = await twoModels();
    await ask('POST', `${PATH}/promote`, { body: { model_id: ids[0] } });
    expect(await ask('DELETE', `/trainer/language/models/${ids[0]}`)).toMatchObject({
      status: 409,
      body: { detail: [{ loc: ['path', 'model_id'], type: 'model_in_use', msg: expect.stringContaining(NAME) }] },
    });
    await ask('DELETE', PATH);
    expect((await ask('DELETE', `/trainer/language/models/${ids[0]}`)).status).toBe(200);
  });
});
