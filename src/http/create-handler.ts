import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { etag } from 'hono/etag';
import { requestId } from 'hono/request-id';
import { secureHeaders } from 'hono/secure-headers';
import { Registry } from 'prom-client';
import * as z from 'zod';
import { type CreateDocumentOptions, createDocument, type ZodOpenApiOperationObject } from 'zod-openapi';
import {
  familyNameOf,
  familyNames,
  inferenceResultSchema,
  MAX_QUERY_CHARACTERS,
  modelRecordSchema,
  modelTypes,
  paginationSchema,
  trainableModelSchema,
} from '../contract/index.js';
import { ownFile } from '../system/index.js';
import { AccountHolds, type AccountLimits, endingWith } from './account-limits.js';
import { type Admission, admit, networkOf, type OperatorAccess } from './admission.js';
import { type BodyLimits, readBody } from './body.js';
import { addProbes, observe, type ProbeOptions } from './probes.js';
import type { Quota } from './quota.js';
import { Refusal, type RefusalStatus, refusalOf, statuses } from './refusal.js';
import type { Connection, Failure, HandlerEnvironment, Route } from './route.js';
import { documentedRoutes, optionalRoutes } from './routes.js';
import { errorSchema, jobSchema, problemSchema } from './schemas.js';
import type { Services } from './services.js';

/** Options of {@link createHandler}. */
export interface HandlerOptions extends Services, Admission, OperatorAccess, ProbeOptions {
  /**
   * Counts the inference calls of each account: one per query, also in a batch or medley. A query of more than 5,000
   * characters counts once for each 5,000 characters or part of them. An explanation on the page counts ten times.
   * Default: no limit.
   */
  readonly quota?: Quota;
  /** What each account may have open at a time. */
  readonly accountLimits?: AccountLimits;
  /**
   * Maximum size of a request's body, in bytes. Default: enough for the maximum number of queries of the route at their
   * maximum length, with every character escaped in JSON; 1 MiB for routes without queries.
   */
  readonly maxBodyBytes?: number;
  /** Maximum time until the body of a request has arrived. Default 30 s. */
  readonly bodyTimeoutMs?: number;
  /**
   * Maximum size of a dataset that is uploaded with the page at /, in bytes. Default 128 MiB. A file of rows may have
   * at most 16 MiB in any case.
   */
  readonly maxUploadBytes?: number;
}

/** Answers a web-standard request: in Node through `serve`, or in any server with `Request` and `Response`. */
export type Handler = (request: Request, connection?: Connection) => Promise<Response>;

const DEFAULT_MAX_BODY_BYTES = 2 ** 20;
const DEFAULT_BODY_TIMEOUT_MS = 30_000;
/** JSON may write each UTF-16 code unit as six bytes: \u0041. */
const MAX_QUERY_BYTES = 6 * MAX_QUERY_CHARACTERS;

type Methods = Record<string, readonly string[]>;

const probeMethods: Methods = { '/health': ['GET'], '/ready': ['GET'], '/metrics': ['GET'] };

/**
 * Creates the service over HTTP: routes, keys, limits and status codes on top of the classes. /openapi.json, /docs,
 * /health, /ready and /metrics need no key. Every answer that is not a success has a `detail`.
 */
export function createHandler(options: HandlerOptions): Handler {
  const { page, operator, authenticateOperator, maxUploadBytes } = options;
  const documented = documentedRoutes();
  const routes = [...documented, ...optionalRoutes(options, authenticateOperator && operator, maxUploadBytes)];
  const document = JSON.stringify(openApiDocument(documented, options));
  const { registry = new Registry(), drift } = options;
  drift?.register(registry);
  return handlerOf({ ...options, registry }, 'there is no such path; see /docs', (app) => {
    const holds = new AccountHolds(options.accountLimits);
    for (const route of routes) addRoute(app, route, options, holds);
    const file = { path: '/openapi.json', type: 'application/json', read: async () => document };
    app.route('/', staticFiles([file]));
    app.route('/docs', referencePage());
    if (page !== undefined) app.route('/', pageFiles());
    const methods: Methods = { '/openapi.json': ['GET'], ...(page && { '/': ['GET'] }) };
    for (const route of routes) {
      const path = honoPath(route);
      methods[path] = [...(methods[path] ?? []), route.method];
    }
    return methods;
  });
}

/** The handler of a process that only trains: it answers /health, /ready and /metrics. */
export function probeHandler(options: ProbeOptions): Handler {
  const paths = Object.keys(probeMethods).join(', ');
  return handlerOf(options, `there is no such path; this process only trains, and serves ${paths}`, () => ({}));
}

type App = Hono<HandlerEnvironment>;

/** @param notFound the message for other paths. @param add adds paths, and returns their methods */
function handlerOf(options: ProbeOptions, notFound: string, add: (app: App) => Methods): Handler {
  const { registry = new Registry(), log } = options;
  const app: App = new Hono();
  app.use(requestId(), observe(registry, log));
  addProbes(app, registry, options);
  refuseOtherMethods(app, { ...add(app), ...probeMethods });
  app.notFound((context) => refuse(context, new Refusal(404, [{ loc: ['path'], msg: notFound, type: 'not_found' }])));
  app.onError((thrown, context) => refuse(context, refusalOf(thrown, context.get('route')?.places)));
  return async (request, connection = {}) => app.fetch(request, connection);
}

function addRoute(app: App, route: Route, options: HandlerOptions, holds: AccountHolds): void {
  const { bodyTimeoutMs = DEFAULT_BODY_TIMEOUT_MS } = options;
  const { header, body } = route.input.shape;
  const { mostQueries = 0, holds: held = 'requests' } = route;
  // One more for everything else in a body, such as the names of models.
  const needed = Math.max(DEFAULT_MAX_BODY_BYTES, (mostQueries + 1) * MAX_QUERY_BYTES);
  const limits: BodyLimits = { maxBodyBytes: options.maxBodyBytes ?? needed, bodyTimeoutMs };
  app.on(route.method, honoPath(route), async (context) => {
    const request = context.req.raw;
    const releases: (() => void)[] = [];
    const release = () => {
      for (const each of releases) each();
    };
    let isStream = false;
    try {
      const account = await admit(context, route, options);
      releases.push(holds.take(account.app_id, held));
      const hold = (bytes: number) => void releases.push(holds.take(account.app_id, 'bodyBytes', bytes));
      const caller = { account, signal: request.signal, context };
      const answer = await route.handle(options, caller, {
        path: context.req.param(),
        query: queryOf(request),
        ...(header && { header: Object.fromEntries(request.headers) }),
        body: body && (await readBody(request, limits, hold)),
      });
      if (!(answer instanceof Response)) return context.json(answer);
      if (held !== 'streams' && held !== 'downloads') return answer;
      if (answer.body === null) return answer;
      if (request.method === 'HEAD') {
        await answer.body.cancel(); // Hono would drop it and leave its source open
        return new Response(null, answer);
      }
      isStream = true;
      return new Response(endingWith(answer.body, request.signal, release), answer);
    } catch (thrown) {
      const refusal = refusalOf(thrown, route.places);
      if (ASK_AGAIN.includes(refusal.status)) await pauseBefore(context, holds);
      throw refusal;
    } finally {
      if (!isStream) release();
    }
  });
}

/** Statuses after which a client may ask again and again. */
const ASK_AGAIN: readonly number[] = [401, 429, 503];

/** Waits for the turn of a refusal. Those without a known account take turns by their network. */
async function pauseBefore(context: Context<HandlerEnvironment>, holds: AccountHolds): Promise<void> {
  const { env, req } = context;
  const account = context.get('account');
  const asker = account === undefined ? `network ${networkOf(env.remoteAddress)}` : `account ${account.app_id}`;
  const pauseMs = holds.refusalPauseMs(asker, performance.now());
  if (pauseMs === 0) return;
  env.onRefused?.();
  await delay(pauseMs, undefined, { signal: req.raw.signal }).catch(() => undefined);
}

/** `/models/{model_id}` as Hono writes it: `/models/:model_id`. */
function honoPath({ path }: Route): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

/** The parameters of a query string, the last one of a name. `limit` becomes a number. */
function queryOf(request: Request): Record<string, unknown> {
  const { searchParams } = new URL(request.url);
  return Object.fromEntries(
    [...searchParams].map(([name, value]) => {
      const isNumber = name === 'limit' && /^\d{1,9}$/.test(value);
      return [name, isNumber ? Number(value) : value];
    }),
  );
}

/** Answers 405 for other methods of a path; runs after all routes. */
function refuseOtherMethods(app: App, methods: Methods): void {
  for (const [path, allowed] of Object.entries(methods)) {
    const allow = allowed.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : method)).join(', ');
    const detail = [{ loc: ['method'], msg: `this path accepts ${allow}`, type: 'method' }];
    app.all(path, () => {
      throw new Refusal(405, detail, { headers: { allow } });
    });
  }
}

function refuse(context: Context<HandlerEnvironment>, { status, detail, cause, data, headers }: Refusal): Response {
  if (cause !== undefined) context.set('failure', cause);
  return context.json({ detail, ...(data !== undefined && { data }) }, status, headers);
}

interface Content {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The hash of the bytes, in quotes. */
  readonly tag: string;
}

interface StaticFile {
  readonly path: string;
  readonly type: string;
  /** Default: browsers ask each time whether it has changed. */
  readonly cacheControl?: string;
  /** Called once, and again only if it failed. */
  readonly read: () => Promise<string | Uint8Array>;
}

/** Bytes written to a connection at a time, which bounds the memory of one that does not read. */
const CHUNK_BYTES = 64 * 1024;

/** Nothing from other servers, no inline scripts or styles. */
const strictPolicy = {
  defaultSrc: ["'self'"],
  baseUri: ["'none'"],
  formAction: ["'none'"],
  frameAncestors: ["'none'"],
  objectSrc: ["'none'"],
};

/**
 * Serves files from memory; all requests share them.
 * @param policy is added to the content security policy, which allows only this server.
 */
export function staticFiles(files: readonly StaticFile[], policy: Readonly<Record<string, string[]>> = {}): Hono {
  const app = new Hono();
  // The proxy decides whether to require TLS.
  const headers = secureHeaders({
    contentSecurityPolicy: { ...strictPolicy, ...policy },
    strictTransportSecurity: false,
  });
  for (const file of files) app.get(file.path, headers, etag(), sending(file));
  return app;
}

function sending({ read, type, cacheControl = 'no-cache' }: StaticFile): MiddlewareHandler {
  let content: Promise<Content> | undefined;
  return async (context) => {
    content ??= read().then(contentOf);
    const { bytes, tag } = await content.catch((thrown: unknown) => {
      content = undefined;
      throw thrown;
    });
    const headers = { 'content-type': type, 'cache-control': cacheControl, etag: tag };
    if (bytes.byteLength <= CHUNK_BYTES) return context.body(bytes, { headers });
    const length = String(bytes.byteLength);
    return context.body(inChunks(bytes), { headers: { ...headers, 'content-length': length } });
  };
}

function contentOf(text: string | Uint8Array): Content {
  const bytes = new Uint8Array(Buffer.from(text));
  return { bytes, tag: `"${createHash('sha256').update(bytes).digest('base64url')}"` };
}

function inChunks(bytes: Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array<ArrayBuffer>> {
  let sent = 0;
  return new ReadableStream({
    pull(controller) {
      const chunk = bytes.subarray(sent, sent + CHUNK_BYTES);
      sent += chunk.byteLength;
      if (chunk.byteLength > 0) controller.enqueue(chunk);
      if (sent >= bytes.byteLength) controller.close();
    },
  });
}

const HTML = 'text/html; charset=utf-8';
const CSS = 'text/css; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';

function pageFiles(): Hono {
  return staticFiles([
    { path: '/', type: HTML, read: () => pageFile('index.html') },
    { path: '/page/page.js', type: SCRIPT, read: () => pageFile('page.js') },
    { path: '/page/style.css', type: CSS, read: () => pageFile('style.css') },
    { path: '/page/icon.svg', type: 'image/svg+xml', read: () => pageFile('icon.svg') },
    { path: '/page/licences.txt', type: 'text/plain; charset=utf-8', read: () => pageFile('licences.txt') },
  ]);
}

/** @throws InstallationError if the page was not built, or is missing from a bundle */
async function pageFile(name: string): Promise<string> {
  const script = ownFile('page/page.js', () => new URL(/* webpackIgnore: true */ './page/page.js', import.meta.url));
  return readFile(new URL(name, script), 'utf8');
}

const REFERENCE_PAGE = `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width">
  <title>Text Model Training and Inference Service</title>
  <link rel="icon" href="data:,">
  <link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
  <div id="reference"></div>
  <script src="/docs/swagger-ui-bundle.js"></script>
  <script src="/docs/start.js"></script>
</body>
</html>
`;
/** In a separate file, because the page's policy forbids inline scripts. */
const START = `SwaggerUIBundle({ url: '/openapi.json', dom_id: '#reference', validatorUrl: null });\n`;

/** Swagger UI uses style attributes, and its icons are data: URLs. */
const referencePolicy = { styleSrc: ["'self'", "'unsafe-inline'"], imgSrc: ["'self'", 'data:'] };

/** The API reference: Swagger UI on /openapi.json, without requests to other servers. */
function referencePage(): Hono {
  const cacheControl = 'max-age=3600';
  const bundle = 'swagger-ui-bundle.js';
  return staticFiles(
    [
      { path: '/', type: HTML, read: async () => REFERENCE_PAGE },
      { path: '/start.js', type: SCRIPT, cacheControl, read: async () => START },
      { path: '/swagger-ui.css', type: CSS, cacheControl, read: () => referenceFile('swagger-ui.css') },
      { path: `/${bundle}`, type: SCRIPT, cacheControl, read: () => referenceFile(bundle) },
    ],
    referencePolicy,
  );
}

/** The build copies the files of Swagger UI. @throws InstallationError if a bundle left them out */
async function referenceFile(name: string): Promise<Uint8Array> {
  const source = () => new URL(/* webpackIgnore: true */ './reference/swagger-ui-bundle.js', import.meta.url);
  return readFile(new URL(name, ownFile('reference/swagger-ui-bundle.js', source)));
}

/** Version of the interface, not of this package (docs/service.md). */
const INTERFACE_VERSION = '1.0';

/** Limits of the service: undefined for no limit. */
export interface DocumentedLimits {
  readonly rateLimiter?: unknown;
  readonly wrongKeyLimiter?: unknown;
  readonly quota?: unknown;
}

function openApiDocument(routes: readonly Route[], limits: DocumentedLimits = {}): ReturnType<typeof createDocument> {
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
    { reused: 'inline', override: familiesByType },
  );
}

/** Says of a model to train which family fits which type. */
const familiesByType: NonNullable<CreateDocumentOptions['override']> = ({ jsonSchema, zodSchema }) => {
  if (!Object.is(zodSchema, trainableModelSchema)) return;
  jsonSchema.oneOf = familyNames.map((family) => ({
    properties: {
      family: { const: family },
      type: { enum: modelTypes.filter((type) => familyNameOf[type] === family) },
    },
  }));
};

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
  add(422, 'The request is not valid');
  for (const failure of failures) add(statuses[failure], reasons[failure]);
  add(429, 'The account has too many requests open at a time');
  if (runsModels) add(429, 'Too many queries of the account are waiting');
  if (rateLimiter !== undefined) add(429, 'Too many requests');
  if (wrongKeyLimiter !== undefined) add(429, 'Too many wrong API keys');
  if (quota !== undefined && runsModels) add(429, 'The request takes more inference calls than the quota has left');
  add(500, 'Internal error');
  if (runsModels) add(503, 'Too many queries are waiting; see retry-after');
  add(503, 'The service is shutting down, or its data is unavailable');
  return found;
}

const reasons: Readonly<Record<Failure, string>> = {
  tier: 'The subscription tier does not include this',
  not_found: 'No such model or job for this account',
  model_not_ready: 'The model is not READY',
  model_in_use: 'A name points to the model',
  rollback: 'The name has no model to return to',
  transition: 'The job has already ended',
  queue_full: 'Too many jobs of the account are waiting',
  model_download: 'The model could not be downloaded',
};
