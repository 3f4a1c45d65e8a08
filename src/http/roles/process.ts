import { collectDefaultMetrics, Registry } from 'prom-client';
import type { ServeOptions } from '../serve.js';
import type { ServiceOptions } from '../start-service.js';

/** Where and how a process of any role listens. */
export function serverOptions({ host, port, trustProxy, maxConnections }: ServiceOptions): ServeOptions {
  return { host, port, trustProxy, ...(maxConnections && { maxConnections }) };
}

/** What Node tells of this process, for /metrics. */
export function processMetrics(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}
