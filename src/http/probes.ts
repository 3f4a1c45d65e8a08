import { setTimeout as delay } from 'node:timers/promises';
import type { Hono, MiddlewareHandler } from 'hono';
import { Counter, Histogram, type Registry } from 'prom-client';
import { isError } from '../contract/index.js';
import { Refusal } from './refusal.js';
import type { HandlerEnvironment } from './route.js';

/** Options of the probes, the metrics and the log of a handler. */
export interface ProbeOptions {
  /** Whether requests can be answered, for /ready. Default: always. */
  readonly ready?: Readiness;
  /** Further metrics that /metrics shows in addition to the handler's own. Default: none. */
  readonly registry?: Registry;
  /** Called once per request, when it is answered. Default: no log. */
  readonly log?: (entry: AccessLogEntry) => void;
}

export function addProbes(app: Hono<HandlerEnvironment>, registry: Registry, { ready }: ProbeOptions): void {
  app.get('/health', (context) => context.json({ status: 'ok' }));
  app.get('/ready', async (context) => {
    const reason = await ready?.();
    if (reason !== undefined) throw new Refusal(503, [{ loc: [], msg: reason, type: 'not_ready' }]);
    return context.json({ status: 'ready' });
  });
  app.get('/metrics', async (context) =>
    context.body(await registry.metrics(), { headers: { 'content-type': registry.contentType } }),
  );
}

export interface ReadinessCheck {
  /** The reason if it fails, in words that are safe to publish: `the database does not answer`. */
  readonly otherwise: string;
  /** Rejects or never resolves if it fails. */
  check(): Promise<unknown>;
}

/**
 * Whether requests can be answered now.
 * @returns why not, in words that are safe to publish; undefined if they can. Never rejects.
 */
export type Readiness = () => Promise<string | undefined>;

const CHECK_TIMEOUT_MS = 2000;
const FRESH_MS = 500;

/** Ready if all checks succeed. Concurrent calls share one round of checks. */
export function readinessOf(checks: readonly ReadinessCheck[]): Readiness {
  let latest: { readonly at: number; readonly reason: Promise<string | undefined> } | undefined;
  return () => {
    const now = performance.now();
    if (latest === undefined || now - latest.at >= FRESH_MS) {
      const reasons = Promise.all(checks.map(reasonOf));
      latest = { at: now, reason: reasons.then((all) => all.find((reason) => reason !== undefined)) };
    }
    return latest.reason;
  };
}

async function reasonOf({ otherwise, check }: ReadinessCheck): Promise<string | undefined> {
  const timer = new AbortController();
  const late = delay(CHECK_TIMEOUT_MS, otherwise, { signal: timer.signal, ref: false });
  const checked = check().then(
    () => undefined,
    () => otherwise,
  );
  return Promise.race([checked, late.catch(() => undefined)]).finally(() => timer.abort());
}

/** A request in the access log. Never contains a query text, a key or the query string. */
export interface AccessLogEntry {
  /** ISO 8601. */
  readonly time: string;
  readonly request_id: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly duration_ms: number;
  /** Absent if the key is invalid or not needed. */
  readonly app_id?: string;
  /** What went wrong, for a status of 500 or more. */
  readonly error?: string;
}

/** Upper bounds in seconds: small models answer in milliseconds, cancelling a job takes seconds. */
const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

export function observe(
  registry: Registry,
  log: ((entry: AccessLogEntry) => void) | undefined,
): MiddlewareHandler<HandlerEnvironment> {
  const labelNames = ['method', 'route', 'status'] as const;
  const registers = [registry];
  const requests = new Counter({
    name: 'orchard_http_requests_total',
    help: 'Requests answered',
    labelNames,
    registers,
  });
  const durations = new Histogram({
    name: 'orchard_http_request_duration_seconds',
    help: 'Time from the headers of a request to its answer',
    labelNames,
    buckets: DURATION_BUCKETS,
    registers,
  });
  const inferenceCalls = new Counter({
    name: 'orchard_inference_calls_total',
    help:
      'Inference calls answered: one per query, and one more for each further 5,000 characters or part of them; an ' +
      'explanation on the page counts ten times',
    labelNames: ['app_id'],
    registers,
  });
  return async (context, next) => {
    const start = performance.now();
    await next();
    const elapsedMs = performance.now() - start;
    const { status } = context.res;
    const { method } = context.req;
    const labels = { method, route: context.get('route')?.path ?? 'none', status };
    requests.inc(labels);
    durations.observe(labels, elapsedMs / 1000);
    const account = context.get('account');
    const calls = context.get('inferenceCalls');
    if (account !== undefined && calls !== undefined) inferenceCalls.inc({ app_id: account.app_id }, calls);
    if (log === undefined) return;
    const failure = context.get('failure');
    log({
      time: new Date().toISOString(),
      request_id: context.get('requestId'),
      method,
      path: context.req.path,
      status,
      duration_ms: Math.round(elapsedMs * 1000) / 1000,
      ...(account && { app_id: account.app_id }),
      ...(failure !== undefined && { error: describeFailure(failure) }),
    });
  };
}

function describeFailure(failure: unknown): string {
  if (!isError(failure)) return String(failure);
  const cause = failure.cause === undefined ? '' : `\ncaused by ${describeFailure(failure.cause)}`;
  return (failure.stack ?? failure.message) + cause;
}
