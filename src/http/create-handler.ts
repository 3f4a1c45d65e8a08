import { type Context, Hono } from 'hono';
import { requestId } from 'hono/request-id';
import { Registry } from 'prom-client';
import { type Admission, admit, type OperatorAccess } from './admission.js';
import { type BodyLimits, readBody } from './body.js';
import { observe } from './observe.js';
import { openApiDocument } from './open-api.js';
import { addProbes, type ProbeOptions } from './probes.js';
import type { Quota } from './quota.js';
import { Refusal, refusalOf } from './refusal.js';
import type { Connection, HandlerEnvironment, Route } from './route.js';
import { documentedRoutes, optionalRoutes } from './routes.js';
import type { Services } from './services.js';
import { pageFiles, referencePage, staticFiles } from './static-files.js';

export interface HandlerOptions extends Services, Admission, OperatorAccess, ProbeOptions {
  /**
   * Counts the inference calls of each account: one per query, in a batch or medley too. A query of more than 5,000
   * characters counts once for every 5,000 begun. Default: no limit.
   */
  readonly quota?: Quota;
  /** Largest body of a request, in bytes. Default 1 MiB. */
  readonly maxBodyBytes?: number;
  /** Time for the body of a request to arrive. Default 10 s. */
  readonly bodyTimeoutMs?: number;
  /** Largest dataset that the page at / can upload, in bytes. Default 128 MiB. */
  readonly maxUploadBytes?: number;
}

/** Answers a web-standard request: in Node through `serve`, or in any server with `Request` and `Response`. */
export type Handler = (request: Request, connection?: Connection) => Promise<Response>;

const DEFAULT_MAX_BODY_BYTES = 2 ** 20;
const DEFAULT_BODY_TIMEOUT_MS = 10_000;

/** Methods by path. */
type Methods = Record<string, readonly string[]>;

const probeMethods: Methods = { '/health': ['GET'], '/ready': ['GET'], '/metrics': ['GET'] };

/**
 * The service over HTTP: routes, keys, limits and statuses, in front of the classes. Without a key it also answers
 * /openapi.json, /docs, /health, /ready and /metrics. Every answer other than a success has a `detail`.
 */
export function createHandler(options: HandlerOptions): Handler {
  const { page, operator, authenticateOperator, maxUploadBytes } = options;
  const documented = documentedRoutes();
  const isOperated = operator !== undefined && authenticateOperator !== undefined;
  const routes = [
    ...documented,
    ...optionalRoutes({ page, maxUploadBytes, operator: isOperated ? operator : undefined }),
  ];
  const document = JSON.stringify(openApiDocument(documented, options));
  return handlerOf(options, 'there is no such path; see /docs', (app) => {
    for (const route of routes) addRoute(app, route, options);
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
  return handlerOf(options, `there is no such path; this process trains, and answers ${paths}`, () => ({}));
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

function addRoute(app: App, route: Route, options: HandlerOptions): void {
  const { maxBodyBytes = DEFAULT_MAX_BODY_BYTES, bodyTimeoutMs = DEFAULT_BODY_TIMEOUT_MS } = options;
  const limits: BodyLimits = { maxBodyBytes, bodyTimeoutMs };
  const { header, body } = route.input.shape;
  app.on(route.method, honoPath(route), async (context) => {
    const account = await admit(context, route, options);
    const request = context.req.raw;
    const caller = { account, signal: request.signal, context };
    const answer = await route.handle(options, caller, {
      path: context.req.param(),
      query: queryOf(request),
      ...(header && { header: Object.fromEntries(request.headers) }),
      body: body && (await readBody(request, limits)),
    });
    return answer instanceof Response ? answer : context.json(answer);
  });
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
    const detail = [{ loc: ['method'], msg: `this path takes ${allow}`, type: 'method' }];
    app.all(path, () => {
      throw new Refusal(405, detail, { headers: { allow } });
    });
  }
}

function refuse(context: Context<HandlerEnvironment>, { status, detail, cause, data, headers }: Refusal): Response {
  if (cause !== undefined) context.set('failure', cause);
  return context.json({ detail, ...(data !== undefined && { data }) }, status, headers);
}
