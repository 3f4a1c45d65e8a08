import { setTimeout as delay } from 'node:timers/promises';
import type { Hono } from 'hono';
import type { Registry } from 'prom-client';
import type { AccessLogEntry } from './observe.js';
import { Refusal } from './refusal.js';
import type { HandlerEnvironment } from './route.js';

/** What an operator asks a process without a key: whether it runs, whether it is ready, and its metrics. */

export interface ProbeOptions {
  /** Whether requests can be answered, for /ready. Default: always. */
  readonly ready?: Readiness;
  /** What /metrics shows, together with the handler's own metrics. Default: an empty registry. */
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

/** Something without which requests can't be answered. */
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
/** How long an outcome is reused. */
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
