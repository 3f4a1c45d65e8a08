import { Hono } from 'hono';
import { requestId } from 'hono/request-id';
import { ok, type Result } from 'neverthrow';
import { Registry } from 'prom-client';
import { type Admission, admit } from './admission.js';
import type { Connection, HandlerEnvironment } from './environment.js';
import { inferenceOperations } from './inference-operations.js';
import type { Quota } from './limiters.js';
import { type AccessLogEntry, observe } from './observe.js';
import { openApiDocument } from './open-api.js';
import type { Operation } from './operation.js';
import { pageOperations } from './page-operations.js';
import { addPageRoutes, pageMethods } from './page-routes.js';
import { type BodyLimits, readBody } from './read-body.js';
import { referencePage } from './reference-page.js';
import { type Refusal, refusal, refuse, unexpected } from './refusal.js';
import type { Services } from './services.js';
import { trainerOperations } from './trainer-operations.js';
import { withinQuota } from './within-quota.js';

export interface HandlerOptions extends Services, Admission {
  /** Counts the inference calls of each account: every query of a batch is one, a medley one. Default: no limit. */
  readonly quota?: Quota;
  /** Largest body of a request, in bytes. Default 1 MiB. */
  readonly maxBodyBytes?: number;
  /** How long the body of a request may take to arrive. Default 10 s. */
  readonly bodyTimeoutMs?: number;
  /** Largest dataset that the page at / may upload, in bytes. Default 128 MiB. */
  readonly maxUploadBytes?: number;
  /** Called once for every request when it is answered. Default: nothing is logged. */
  readonly log?: (entry: AccessLogEntry) => void;
  /** What /metrics shows, the handler's own figures added. Default: an empty one. */
  readonly registry?: Registry;
}

/** Answers a web-standard request: in Node through `serve`, or in any server that speaks `Request` and `Response`. */
export type Handler = (request: Request, connection?: Connection) => Promise<Response>;

const DEFAULT_MAX_BODY_BYTES = 2 ** 20;
const DEFAULT_BODY_TIMEOUT_MS = 10_000;

export const operations: readonly Operation[] = [...trainerOperations, ...inferenceOperations];

/**
 * The documented service over HTTP: its routes, keys, limits and statuses; the classes do the rest. Besides, without a
 * key: /openapi.json, /docs, /health and /metrics. Every answer that isn't a success has the documented `detail`.
 */
export function createHandler(options: HandlerOptions): Handler {
  const { registry = new Registry(), log } = options;
  const app = new Hono<HandlerEnvironment>();
  app.use(requestId(), observe(registry, log));
  const { page } = options;
  const all = page === undefined ? operations : [...operations, ...pageOperations(page)];
  for (const operation of all) addOperation(app, operation, options);
  addPages(app, registry);
  if (page !== undefined) addPageRoutes(app, page, options);
  refuseOtherMethods(app, all, page === undefined ? {} : pageMethods);
  app.notFound((context) => refuse(context, nothingThere));
  app.onError((thrown, context) => refuse(context, { ...unexpected(), cause: thrown }));
  return async (request, connection = {}) => app.fetch(request, connection);
}

type App = Hono<HandlerEnvironment>;

function addOperation(app: App, operation: Operation, options: HandlerOptions): void {
  const { maxBodyBytes = DEFAULT_MAX_BODY_BYTES, bodyTimeoutMs = DEFAULT_BODY_TIMEOUT_MS } = options;
  const limits = { maxBodyBytes, bodyTimeoutMs };
  app.on(operation.method, routePath(operation), async (context) => {
    context.set('route', operation.path);
    const request = context.req.raw;
    const admitted = await admit(request, context.env, operation, options);
    if (admitted.isErr()) return refuse(context, admitted.error);
    const account = admitted.value;
    context.set('account', account);
    const body = await readBodyOf(operation, request, limits);
    if (body.isErr()) return refuse(context, body.error);
    const call = operation.prepare({
      path: context.req.param(),
      query: queryOf(request),
      body: body.value,
    });
    if (call.isErr()) return refuse(context, call.error);
    const { inferenceCalls, answer } = call.value;
    const answered = await withinQuota(options.quota, account, inferenceCalls, () =>
      answer(options, { account, signal: request.signal }),
    );
    if (answered.isErr()) return refuse(context, answered.error);
    if (inferenceCalls > 0) context.set('inferenceCalls', inferenceCalls);
    return context.json(answered.value);
  });
}

/** A GET or DELETE may come with a body; nobody reads it. */
async function readBodyOf(
  operation: Operation,
  request: Request,
  limits: BodyLimits,
): Promise<Result<unknown, Refusal>> {
  return operation.method === 'POST' ? readBody(request, limits) : ok(undefined);
}

function addPages(app: App, registry: Registry): void {
  const document = openApiDocument(operations);
  app.get('/health', (context) => context.json({ status: 'ok' }));
  app.get('/openapi.json', (context) => context.json(document));
  app.get('/metrics', async (context) =>
    context.body(await registry.metrics(), { headers: { 'content-type': registry.contentType } }),
  );
  app.route('/docs', referencePage());
}

/** Answers 405 for what has other methods; runs after all that have been added. */
function refuseOtherMethods(
  app: App,
  operations: readonly Operation[],
  others: Readonly<Record<string, string>>,
): void {
  const methods = new Map<string, string[]>();
  for (const operation of operations) {
    const path = routePath(operation);
    methods.set(path, [...(methods.get(path) ?? []), operation.method]);
  }
  for (const path of ['/health', '/openapi.json', '/metrics']) methods.set(path, ['GET']);
  for (const [path, method] of Object.entries(others)) methods.set(path, [method]);
  for (const [path, allowed] of methods) {
    const allow = allowed.includes('GET') ? [...allowed, 'HEAD'].join(', ') : allowed.join(', ');
    const msg = `this path takes ${allow}`;
    const refused = refusal(405, { loc: ['method'], msg, type: 'method' }, { allow });
    app.all(path, (context) => refuse(context, refused));
  }
}

const nothingThere = refusal(404, {
  loc: ['path'],
  msg: 'there is no such path; /docs shows those there are',
  type: 'not_found',
});

/** `/models/{model_id}` as Hono writes it: `/models/:model_id`. */
function routePath({ path }: Operation): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

/** The parameters of a query string, of a repeated one the last; whole numbers as numbers. */
function queryOf(request: Request): Record<string, unknown> {
  const { searchParams } = new URL(request.url);
  return Object.fromEntries([...searchParams].map(([name, value]) => [name, numberOr(name, value)]));
}

/** `limit` alone is documented as a number. */
function numberOr(name: string, value: string): unknown {
  return name === 'limit' && /^\d{1,9}$/.test(value) ? Number(value) : value;
}
