/** A family from elsewhere over HTTP: there in a handler that is created after it was registered. */
import { expect, it } from 'vitest';
import { registerFamily } from '../../src/families/index.js';
import { quince } from '../families/toy/quince.js';
import { aRequest } from '../trainer/request.js';
import { aService, useCatalogue } from './a-service.js';

const JOBS = '/trainer/language/training-jobs';
const TYPE = 'sentence-pair-similarity';
const body = { ...aRequest, model_config: { ...aRequest.model_config, type: TYPE, family: 'Quince' } };

const catalogue = useCatalogue();

it('refuses a type of no family, and trains, lists, documents and shows it once its family is registered', async () => {
  const before = await aService(catalogue);
  expect((await before.ask('POST', JOBS, { body })).status).toBe(422);
  registerFamily(quince);

  const { ask, host } = await aService(catalogue);
  const { id } = (await ask('POST', JOBS, { body })).body;
  expect((await host.nextRun()).spec).toMatchObject({ id, model_config: body.model_config });
  const listed = (await ask('GET', `/trainer/language/models?modelType=${TYPE}`)).body;
  expect(listed.data).toEqual([expect.objectContaining({ id, type: TYPE })]);
  const { paths } = (await ask('GET', '/openapi.json')).body;
  const { schema } = paths[JOBS].post.requestBody.content['application/json'];
  expect(schema.properties.model_config.properties.type.enum).toContain(TYPE);
  expect((await ask('GET', '/page/models')).body.answer_views).toMatchObject({ [TYPE]: 'labels' });
});
