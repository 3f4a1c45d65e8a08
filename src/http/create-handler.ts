import { Hono } from 'hono';
import { requestId } from 'hono/request-id';
import { Registry } from 'prom-client';
import { admit } from './admission.js';
import type { Admission } from './admission-options.js';
import type { Connection } from './connection.js';
import type { HandlerEnvironment } from './environment.js';
import { inferenceOperations } from './inference-operations.js';
import type { Quota } from './limiters.js';
import { observe } from './observe.js';
import { openApiDocument } from './open-api.js';
import type { Operation } from './operation.js';
import type { OperatorAccess } from './operator-access.js';
import { addOperatorRoutes } from './operator-routes.js';
import { pageOperations } from './page-operations.js';
import { addPageRoutes, pageMethods } from './page-routes.js';
import type { ProbeOptions } from './probe-options.js';
import { addProbes, probeMethods, refuseOtherMethods } from './probes.js';
import { readBody } from './read-body.js';
import { referencePage } from './reference-page.js';
import { Refusal, refusalOf } from './refusal.js';
import { refuse } from './refuse.js';
import { type AllowedMethods, queryOf, routePath } from './route.js';
import type { Services } from './services.js';
import { staticFiles } from './static-file.js';
import { trainerOperations } from './trainer-operations.js';
import { withinQuota } from './within-quota.js';

export interface HandlerOptions extends Services, Admission, OperatorAccess, ProbeOptions {
  /**
   * Counts the inference calls of each account: every query of a batch is one, a medley one for each query; a query of
   * more than 5,000 characters is one for every 5,000 begun. Default: no limit.
   */
  readonly quota?: Quota;
  /** Largest body of a request, in bytes. Default 1 MiB. */
  readonly maxBodyBytes?: number;
  /** How long the body of a request may take to arrive. Default 10 s. */
  readonly bodyTimeoutMs?: number;
  /** Largest dataset that the page at / may upload, in bytes. Default 128 MiB. */
  readonly maxUploadBytes?: number;
}

/** Answers a web-standard request: in Node through `serve`, or in any server that speaks `Request` and `Response`. */
export type Handler = (request: Request, connection?: Connection) => Promise<Response>;

const DEFAULT_MAX_BODY_BYTES = 2 ** 20;
const DEFAULT_BODY_TIMEOUT_MS = 10_000;

/** Those of docs/service.md, for the types of models that are known by now. */
export function operations(): readonly Operation[] {
  return [...trainerOperations(), ...inferenceOperations];
}

/**
 * The service over HTTP: its routes, keys, limits and statuses; the classes do the rest. Besides, without a
 * key: /openapi.json, /docs, /health, /ready and /metrics. Every answer that isn't a success has a `detail`.
 */
export function createHandler(options: HandlerOptions): Handler {
  const { registry = new Registry(), log } = options;
  const app = new Hono<HandlerEnvironment>();
  app.use(requestId(), observe(registry, log));
  const { page } = options;
  const described = operations();
  const all = page === undefined ? described : [...described, ...pageOperations(page)];
  for (const operation of all) addOperation(app, operation, options);
  addProbes(app, registry, options);
  addReference(app, openApiDocument(described, options));
  if (page !== undefined) addPageRoutes(app, page, options);
  const operatorMethods = addOperatorRoutes(app, options);
  refuseOtherMethods(app, {
    ...methodsOf(all),
    ...probeMethods,
    '/openapi.json': ['GET'],
    ...(page !== undefined && pageMethods),
    ...operatorMethods,
  });
  app.notFound((context) => refuse(context, nothingThere()));
  app.onError((thrown, context) => refuse(context, refusalOf(thrown, context.get('route')?.places)));
  return async (request, connection = {}) => app.fetch(request, connection);
}

type App = Hono<HandlerEnvironment>;

function addOperation(app: App, operation: Operation, options: HandlerOptions): void {
  const { maxBodyBytes = DEFAULT_MAX_BODY_BYTES, bodyTimeoutMs = DEFAULT_BODY_TIMEOUT_MS, quota } = options;
  app.on(operation.method, routePath(operation), async (context) => {
    const account = await admit(context, operation, options);
    const request = context.req.raw;
    // A GET or DELETE may come with a body; nobody reads it.
    const hasBody = operation.method === 'POST';
    const body = hasBody ? await readBody(request, { maxBodyBytes, bodyTimeoutMs }) : undefined;
    const header = operation.input.shape.header && { header: Object.fromEntries(request.headers) };
    const call = operation.prepare({ path: context.req.param(), query: queryOf(request), ...header, body });
    const caller = { account, signal: request.signal };
    const answer = await withinQuota(quota, account, call.inferenceCalls, () => call.answer(options, caller));
    if (call.inferenceCalls > 0) context.set('inferenceCalls', call.inferenceCalls);
    return context.json(answer);
  });
}

function addReference(app: App, document: object): void {
  const read = async () => JSON.stringify(document);
  app.route('/', staticFiles([{ path: '/openapi.json', type: 'application/json', read }]));
  app.route('/docs', referencePage());
}

function methodsOf(operations: readonly Operation[]): AllowedMethods {
  const methods: Record<string, string[]> = {};
  for (const operation of operations) {
    const path = routePath(operation);
    methods[path] = [...(methods[path] ?? []), operation.method];
  }
  return methods;
}

function nothingThere(): Refusal {
  const msg = 'there is no such path; /docs shows those there are';
  return new Refusal(404, [{ loc: ['path'], msg, type: 'not_found' }]);
}
