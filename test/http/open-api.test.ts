import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { modelTypes, trainingJobStatuses } from '../../src/contract/index.js';
import { aService, useCatalogue } from './a-service.js';

const catalogue = useCatalogue();

async function theDocument() {
  const { ask } = await aService(catalogue);
  return (await ask('GET', '/openapi.json', { as: null })).body;
}

describe('the OpenAPI document', () => {
  it('is valid OpenAPI 3.1', async () => {
    const validator = new Validator();
    const outcome = await validator.validate(await theDocument());
    expect(outcome.errors).toBeUndefined();
    expect(outcome.valid).toBe(true);
    expect(validator.version).toBe('3.1');
  });

  it('has the documented operations, and is of version 1.0', async () => {
    const { info, paths } = await theDocument();
    expect(info.version).toBe('1.0');
    const found = Object.entries<object>(paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(found.sort()).toEqual(
      [
        'GET /trainer/language/models',
        'GET /trainer/language/models/{model_id}',
        'DELETE /trainer/language/models/{model_id}',
        'GET /trainer/language/training-jobs',
        'POST /trainer/language/training-jobs',
        'GET /trainer/language/training-jobs/{model_id}',
        'DELETE /trainer/language/training-jobs/{model_id}',
        'POST /predictor/language/pre-trained/{model_name}',
        'POST /predictor/language/model/{model_id}',
        'POST /batch-predictor/language/pre-trained/{model_name}',
        'POST /batch-predictor/language/model/{model_id}',
        'POST /medley/language',
        'POST /medley/language/batch',
        'POST /medley/language/batch/pre-trained/{model_name}',
      ].sort(),
    );
  });

  it('asks for x-api-key everywhere', async () => {
    const { security, components } = await theDocument();
    expect(security).toEqual([{ apiKey: [] }]);
    expect(components.securitySchemes.apiKey).toEqual({ type: 'apiKey', in: 'header', name: 'x-api-key' });
  });

  it('tells the limits and enumerations', async () => {
    const { paths } = await theDocument();
    const bodyOf = (path: string) =>
      paths[path].post.requestBody.content['application/json'].schema.properties;
    expect(bodyOf('/batch-predictor/language/model/{model_id}').queries).toMatchObject({
      minItems: 1,
      maxItems: 20,
    });
    expect(bodyOf('/medley/language/batch').queries).toMatchObject({ minItems: 1, maxItems: 50 });
    for (const path of ['/medley/language', '/medley/language/batch']) {
      expect(bodyOf(path).models).toMatchObject({ minItems: 1, maxItems: 11, uniqueItems: true });
    }
    const { name, type } = bodyOf('/trainer/language/training-jobs').model_config.properties;
    expect(name).toMatchObject({ minLength: 1, maxLength: 24 });
    expect(type.enum).toEqual([...modelTypes]);
    const { parameters } = paths['/trainer/language/models'].get;
    const schemaOf = (wanted: string) =>
      parameters.find(({ name }: { name: string }) => name === wanted).schema;
    expect(schemaOf('trainingStatus').enum).toEqual([...trainingJobStatuses]);
    expect(schemaOf('limit')).toMatchObject({ type: 'integer', minimum: 1, maximum: 100 });
  });
});
