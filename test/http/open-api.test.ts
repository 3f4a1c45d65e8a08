import { Validator } from '@seriousme/openapi-schema-validator';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { describe, expect, it } from 'vitest';
import { familyNameOf, modelTypes, trainingJobStatuses } from '../../src/contract/index.js';
import type { HandlerOptions } from '../../src/http/index.js';
import { aService, useCatalogue } from './a-service.js';

const catalogue = useCatalogue();

async function theDocument(handler: Partial<HandlerOptions> = {}) {
  const { ask } = await aService(catalogue, { handler });
  return (await ask('GET', '/openapi.json', { as: null })).body;
}

/** The statuses of each operation, by its id. */
async function declaredBy(handler: Partial<HandlerOptions>): Promise<Map<string, number[]>> {
  const { paths } = await theDocument(handler);
  const found = Object.values<Record<string, { operationId: string; responses: object }>>(paths);
  return new Map(
    found.flatMap((item) =>
      Object.values(item).map(({ operationId, responses }) => [operationId, Object.keys(responses).map(Number).sort()]),
    ),
  );
}

interface Schema {
  readonly $ref?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly items?: Schema;
}

interface Operation {
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
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
    const bodyOf = (path: string) => paths[path].post.requestBody.content['application/json'].schema.properties;
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
    expect(type.enum).toEqual(modelTypes);
    const { parameters } = paths['/trainer/language/models'].get;
    const schemaOf = (wanted: string) => parameters.find(({ name }: { name: string }) => name === wanted).schema;
    expect(schemaOf('trainingStatus').enum).toEqual([...trainingJobStatuses]);
    expect(schemaOf('limit')).toMatchObject({ type: 'integer', minimum: 1, maximum: 100 });
  });

  const body = [400, 408, 413, 415];
  const failures: Readonly<Record<string, readonly number[]>> = {
    listModels: [],
    getModel: [404],
    deleteModel: [404, 409],
    listTrainingJobs: [],
    createTrainingJob: [...body, 403],
    getTrainingJob: [404],
    cancelTrainingJob: [404, 409],
    predictPretrained: [...body, 404, 502],
    predictCustom: [...body, 404, 409],
    predictPretrainedBatch: [...body, 403, 404, 502],
    predictCustomBatch: [...body, 403, 404, 409],
    medley: [...body, 403, 404, 502],
    medleyBatch: [...body, 403, 404, 502],
    medleyPretrainedBatch: [...body, 403, 404, 502],
  };

  it('tells how each operation can fail, and of no failure that it can not give', async () => {
    const declared = await declaredBy({});
    for (const [id, statuses] of Object.entries(failures)) {
      expect([id, declared.get(id)]).toEqual([id, [200, 401, 422, 429, 500, 503, ...statuses].sort()]);
    }
    expect(declared.size).toBe(Object.keys(failures).length);
  });

  it('tells of each limit that a 429 can be about: where requests are limited, and where models are asked under a quota', async () => {
    const limiter = new RateLimiterMemory({ points: 1000, duration: 60 });
    async function limited(handler: Partial<HandlerOptions>, reason: string): Promise<unknown[]> {
      const { paths } = await theDocument(handler);
      const operations = Object.values<object>(paths).flatMap((item) => Object.values(item));
      return operations.flatMap(({ operationId, responses }) =>
        responses[429].description.includes(reason) ? [operationId] : [],
      );
    }
    const all = Object.keys(failures).sort();
    expect((await limited({}, 'too many requests open at a time')).sort()).toEqual(all);
    expect((await limited({ rateLimiter: limiter }, 'Too many requests')).sort()).toEqual(all);
    expect((await limited({ wrongKeyLimiter: limiter }, 'wrong API keys')).sort()).toEqual(all);
    const asking = all.filter((id) => /predict|medley/i.test(id));
    expect((await limited({ quota: limiter }, 'than the quota has left')).sort()).toEqual(asking);
    expect(await limited({}, 'jobs of the account are waiting')).toEqual(['createTrainingJob']);
  });

  it('tells units, and what a list leaves out', async () => {
    const { paths, components } = await theDocument();
    const { InferenceResult, TrainingJobInformation } = components.schemas;
    expect(InferenceResult.properties.token_start_positions.description).toContain('UTF-16 code units');
    const { metrics } = TrainingJobInformation.properties.training_stats.properties;
    expect(metrics.properties.elapsed_time.description).toContain('seconds');
    const { responses } = paths['/predictor/language/model/{model_id}'].post;
    const { metadata } = responses[200].content['application/json'].schema.properties;
    expect(metadata.properties.model_inference_time_ms.description).toContain('milliseconds');
    for (const path of ['/trainer/language/models', '/trainer/language/training-jobs']) {
      const { parameters } = paths[path].get;
      const descriptionOf = (wanted: string) =>
        parameters.find(({ name }: { name: string }) => name === wanted).description;
      expect(descriptionOf('limit')).toContain('20');
      expect(descriptionOf('trainingStatus')).toContain('DELETED');
      expect(descriptionOf('cursor')).toContain('next_cursor');
    }
  });

  it('describes each field of a request', async () => {
    const { components, paths } = await theDocument();
    const resolve = (schema: Schema): Schema =>
      schema.$ref === undefined ? schema : components.schemas[schema.$ref.split('/').at(-1) ?? ''];
    const missing: string[] = [];
    const visit = (given: Schema, at: string): void => {
      const schema = resolve(given);
      for (const [name, field] of Object.entries(schema.properties ?? {})) {
        const own = resolve(field);
        if ((field.description ?? own.description) === undefined) missing.push(`${at}.${name}`);
        visit(field, `${at}.${name}`);
      }
      const { anyOf = [], allOf = [], items } = schema;
      for (const part of [...anyOf, ...allOf, ...(items ? [items] : [])]) visit(part, at);
    };
    for (const [path, item] of Object.entries<Record<string, Operation>>(paths)) {
      for (const { requestBody } of Object.values(item)) {
        const schema = requestBody?.content['application/json']?.schema;
        if (schema) visit(schema, path);
      }
    }
    expect(missing).toEqual([]);
  });

  it('tells which family fits which type of model', async () => {
    const { paths } = await theDocument();
    const { schema } = paths['/trainer/language/training-jobs'].post.requestBody.content['application/json'];
    const offered = schema.properties.model_config.oneOf.flatMap(
      ({ properties: { family, type } }: { properties: { family: { const: string }; type: { enum: string[] } } }) =>
        type.enum.map((each) => [each, family.const]),
    );
    expect(Object.fromEntries(offered)).toEqual(familyNameOf);
  });

  it('tells what a failed job names', async () => {
    const { components } = await theDocument();
    const { problems } = components.schemas.TrainingJobInformation.properties.error.properties;
    expect(problems).toMatchObject({ type: 'array', maxItems: 100 });
    expect(Object.keys(problems.items.properties)).toEqual(['file', 'line', 'column', 'found', 'expected']);
    expect(problems.items.required).toEqual(['file', 'found', 'expected']);
  });
});
