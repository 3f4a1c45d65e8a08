import * as z from 'zod';
import { type CreateDocumentOptions, createDocument, type ZodOpenApiOperationObject } from 'zod-openapi';
import { inferenceResultSchema, modelRecordSchema, paginationSchema } from '../contract/index.js';
import { type RefusalStatus, statuses } from './refusal.js';
import type { Failure, Route } from './route.js';
import { errorSchema, jobSchema, problemSchema } from './schemas.js';

/** Version of the interface, not of this package (docs/service.md). */
const INTERFACE_VERSION = '1.0';

/** Limits of the service: undefined for no limit. */
export interface DocumentedLimits {
  readonly rateLimiter?: unknown;
  readonly wrongKeyLimiter?: unknown;
  readonly quota?: unknown;
}

export function openApiDocument(
  routes: readonly Route[],
  limits: DocumentedLimits = {},
): ReturnType<typeof createDocument> {
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {};
  for (const route of routes) {
    paths[route.path] = {
      ...paths[route.path],
      [route.method.toLowerCase()]: operationObject(route, limits),
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
      tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
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

function operationObject(route: Route, limits: DocumentedLimits): ZodOpenApiOperationObject {
  const { id, tag, summary, input, output } = route;
  const { path, query, header, body } = input.shape;
  const failures = [...failuresOf(route, limits)];
  return {
    operationId: id,
    tags: [tag],
    summary,
    requestParams: { ...(path && { path }), query, ...(header && { header }) },
    ...(body && { requestBody: { required: true, content: { 'application/json': { schema: body } } } }),
    responses: {
      200: { description: 'Success', content: { 'application/json': { schema: output ?? z.unknown() } } },
      ...Object.fromEntries(failures.map(([status, reasons]) => [status, failureObject(reasons)])),
    },
  };
}

function failureObject(reasons: readonly string[]) {
  return { description: reasons.join('; '), content: { 'application/json': { schema: errorSchema } } };
}

export function failuresOf(
  { input, needsPro, runsModels, failures = [] }: Route,
  { rateLimiter, wrongKeyLimiter, quota }: DocumentedLimits,
): ReadonlyMap<RefusalStatus, readonly string[]> {
  const found = new Map<RefusalStatus, string[]>();
  const add = (status: RefusalStatus, reason: string) => found.set(status, [...(found.get(status) ?? []), reason]);
  add(401, 'The API key is missing or invalid');
  if (needsPro) add(statuses.tier, reasons.tier);
  if (input.shape.body !== undefined) {
    add(400, 'The body is incomplete');
    add(408, 'The body did not arrive in time');
    add(413, 'The body is too large');
    add(415, 'The body is not application/json');
  }
  add(422, 'The request does not validate');
  for (const failure of failures) add(statuses[failure], reasons[failure]);
  if (rateLimiter !== undefined) add(429, 'Too many requests');
  if (wrongKeyLimiter !== undefined) add(429, 'Too many wrong API keys');
  if (quota !== undefined && runsModels) add(429, 'The inference calls of the account are used up');
  add(500, 'Internal error');
  if (runsModels) add(503, 'Too many queries are waiting; see retry-after');
  add(503, 'The service is shutting down, or its data is unavailable');
  return found;
}

const reasons: Readonly<Record<Failure, string>> = {
  tier: 'The subscription tier does not include this',
  not_found: 'No such model or job for this account',
  model_not_ready: 'The model is not READY',
  transition: 'The job has already ended',
  queue_full: 'Too many jobs of the account are waiting',
  model_download: 'The model could not be downloaded',
};
