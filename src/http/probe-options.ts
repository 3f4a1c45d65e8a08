import type { Registry } from 'prom-client';
import type { AccessLogEntry } from './access-log.js';
import type { Readiness } from './readiness.js';

/** What a handler tells whoever runs its process. */
export interface ProbeOptions {
  /** Whether requests can be answered, for /ready. Default: they can. */
  readonly ready?: Readiness;
  /** What /metrics shows, the handler's own figures added. Default: an empty one. */
  readonly registry?: Registry;
  /** Called once for every request when it is answered. Default: nothing is logged. */
  readonly log?: (entry: AccessLogEntry) => void;
}
