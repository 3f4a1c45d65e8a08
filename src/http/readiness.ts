import { setTimeout as delay } from 'node:timers/promises';

/** Something without which requests can't be answered. */
export interface ReadinessCheck {
  /** What is wrong where it fails, in words that anybody may read: `the database does not answer`. */
  readonly otherwise: string;
  /** Rejects, or never resolves, where it fails. */
  check(): Promise<unknown>;
}

/**
 * Tells whether requests can be answered now.
 * @returns why they can't, in words that anybody may read; undefined where they can. Never rejects.
 */
export type Readiness = () => Promise<string | undefined>;

/** How long a check may take. */
const CHECK_TIMEOUT_MS = 2000;
/** How long an outcome counts, so that asking often costs nothing. */
const FRESH_MS = 500;

/** Ready when all checks succeed. Many who ask at a time share one round of checks. */
export function readinessOf(checks: readonly ReadinessCheck[]): Readiness {
  let latest: { readonly at: number; readonly reason: Promise<string | undefined> } | undefined;
  return () => {
    const now = performance.now();
    if (latest === undefined || now - latest.at >= FRESH_MS)
      latest = { at: now, reason: firstReason(checks) };
    return latest.reason;
  };
}

async function firstReason(checks: readonly ReadinessCheck[]): Promise<string | undefined> {
  const reasons = await Promise.all(checks.map(reasonOf));
  return reasons.find((reason) => reason !== undefined);
}

async function reasonOf({ otherwise, check }: ReadinessCheck): Promise<string | undefined> {
  const timer = new AbortController();
  const late = delay(CHECK_TIMEOUT_MS, otherwise, { signal: timer.signal, ref: false }).catch(
    () => undefined,
  );
  const checked = check().then(
    () => undefined,
    () => otherwise,
  );
  return Promise.race([checked, late]).finally(() => timer.abort());
}
