import { join } from 'node:path';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { fileStorage } from '../storage/index.js';
import { type AccountServices, accountServices } from './account-services.js';
import { hashedKeys, type StoredKey } from './api-keys.js';
import { calendarQuota } from './calendar-quota.js';
import type { ServeSettings } from './command-options.js';
import { createHandler } from './create-handler.js';
import type { AccessLogEntry } from './observe.js';
import { type RunningServer, serve } from './serve.js';

export interface ServiceOptions extends Omit<ServeSettings, 'keys'> {
  readonly keys: readonly StoredKey[];
  /** Who may erase accounts and remove unused models. */
  readonly operatorKeys?: readonly StoredKey[];
  readonly log: (entry: AccessLogEntry) => void;
}

/**
 * Serves the models in a folder to the accounts that have keys. Jobs that an earlier service left go on at once.
 * Its `close` answers what is under way, then stops training; running jobs go on when the service starts again.
 */
export async function startService(options: ServiceOptions): Promise<RunningServer> {
  const { data, keys, operatorKeys = [], log } = options;
  const storage = fileStorage(data);
  const services = accountServices({
    storage,
    uploadDirectory: join(data, 'uploads'),
    trainer: { allowPrivateAddresses: options['allow-private-addresses'], isolation: options.isolation },
    inference: inferenceOptions(options),
  });
  const quota = options.quota && calendarQuota({ ...options.quota, storage });
  const requestsPerMinute = options['requests-per-minute'];
  const handler = createHandler({
    ...services,
    authenticate: hashedKeys(keys),
    ...(operatorKeys.length > 0 && { authenticateOperator: hashedKeys(operatorKeys) }),
    ...(requestsPerMinute && { rateLimiter: perMinute(requestsPerMinute) }),
    wrongKeyLimiter: perMinute(options['wrong-keys-per-minute']),
    ...(quota && { quota }),
    log,
    registry: processMetrics(),
  });
  const server = await serve(handler, serverOptions(options));
  takeUpJobs(services, keys);
  return {
    url: server.url,
    async close() {
      await server.close();
      await services.close();
      await quota?.close();
      await storage.close();
    },
  };
}

function inferenceOptions({ workers, 'max-waiting': maxWaiting }: ServiceOptions) {
  return { ...(workers && { workers }), ...(maxWaiting && { maxWaiting }) };
}

function serverOptions({ host, port, ...options }: ServiceOptions) {
  const maxConnections = options['max-connections'];
  return { host, port, trustProxy: options['trust-proxy'], ...(maxConnections && { maxConnections }) };
}

function perMinute(points: number): RateLimiterMemory {
  return new RateLimiterMemory({ points, duration: 60 });
}

/** A trainer takes up what is left when it is made. */
function takeUpJobs({ trainer }: AccountServices, keys: readonly StoredKey[]): void {
  for (const { app_id, tier } of keys) trainer({ app_id, tier });
}

function processMetrics(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}
