import { type CreateDocumentOptions, createDocument, type ZodOpenApiOperationObject } from 'zod-openapi';
import { inferenceResultSchema, modelRecordSchema, paginationSchema } from '../contract/index.js';
import type { Operation } from './operation.js';
import { errorSchema, jobSchema, problemSchema } from './schemas.js';

/** Spec, "Versioning". */
const INTERFACE_VERSION = '1.0';

/** The operations as an OpenAPI 3.1 document, of the very schemas that check the requests. */
export function openApiDocument(operations: readonly Operation[]): ReturnType<typeof createDocument> {
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {};
  for (const operation of operations) {
    paths[operation.path] = {
      ...paths[operation.path],
      [operation.method.toLowerCase()]: operationObject(operation),
    };
  }
  return createDocument(
    {
      openapi: '3.1.1',
      info: {
        title: 'Text Model Training and Inference Service',
        version: INTERFACE_VERSION,
        description: 'Train text models on your own data; classify text, find entities, rank passages.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: '/' }],
      security: [{ apiKey: [] }],
      tags: [...new Set(operations.map(({ tag }) => tag))].map((name) => ({ name })),
      paths,
      components: {
        securitySchemes: { apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' } },
        schemas: {
          Problem: problemSchema,
          Error: errorSchema,
          ModelRecord: modelRecordSchema,
          TrainingJobInformation: jobSchema,
          InferenceResult: inferenceResultSchema,
          Pagination: paginationSchema,
        },
      },
    },
    documentOptions,
  );
}

const documentOptions: CreateDocumentOptions = { reused: 'inline' };

/** What each refusal means; those of 415, 413 and 408 come only where there is a body. */
const refusals = {
  401: 'No API key, or one of nobody',
  403: 'The tier does not include this',
  404: 'No such model, job or pretrained model for this account',
  408: 'The body came too slowly',
  409: 'The model or job is not in a state for this',
  413: 'The body is too large',
  415: 'The body is not application/json',
  422: 'The request does not validate',
  429: 'Too many requests, or too many jobs waiting',
  500: 'A defect of the service',
  502: 'A model could not be fetched',
  503: 'The service is shutting down',
} as const;

function operationObject(operation: Operation): ZodOpenApiOperationObject {
  const { id, tag, summary, input, output } = operation;
  const { path, query, body } = input.shape;
  return {
    operationId: id,
    tags: [tag],
    summary,
    requestParams: { ...(path && { path }), ...(query && { query }) },
    ...(body && { requestBody: { required: true, content: { 'application/json': { schema: body } } } }),
    responses: {
      200: { description: 'Success', content: { 'application/json': { schema: output } } },
      ...Object.fromEntries(refusalStatuses(operation).map((status) => [status, refusalObject(status)])),
    },
  };
}

function refusalObject(status: keyof typeof refusals) {
  return { description: refusals[status], content: { 'application/json': { schema: errorSchema } } };
}

function refusalStatuses({ input }: Operation): (keyof typeof refusals)[] {
  const always = [401, 403, 404, 409, 422, 429, 500, 502, 503] as const;
  return input.shape.body === undefined ? [...always] : [...always, 408, 413, 415];
}
