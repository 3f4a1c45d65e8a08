import type { AccountServices } from '../account-services.js';
import { accountServices } from '../account-services.js';
import { hashedKeys, type StoredKey } from '../api-keys.js';
import { createHandler } from '../create-handler.js';
import { readinessOf } from '../readiness.js';
import { type RunningServer, serve } from '../serve.js';
import type { ServiceOptions } from '../start-service.js';
import type { Backend } from './backend.js';
import { processMetrics, serverOptions } from './process.js';
import { startTraining } from './trainer-role.js';

/**
 * Answers requests over a backend, which stays open. Where it has a queue, jobs are handed to whoever trains: to this
 * process too, unless its role is `api`.
 */
export async function serveRequests(options: ServiceOptions, backend: Backend): Promise<RunningServer> {
  const { keys, operatorKeys = [], log } = options;
  const services = servicesOf(options, backend);
  const registry = processMetrics();
  const handler = createHandler({
    ...services,
    ...backend.limiters(options),
    authenticate: hashedKeys(keys),
    ...(operatorKeys.length > 0 && { authenticateOperator: hashedKeys(operatorKeys) }),
    ready: readinessOf(backend.checks),
    log,
    registry,
  });
  const server = await serve(handler, serverOptions(options));
  const { queue } = backend;
  const training =
    queue && options.role !== 'api' ? startTraining(options, { ...backend, queue }, registry) : undefined;
  if (queue === undefined) takeUpJobs(services, keys);
  return {
    url: server.url,
    async close() {
      await server.close();
      await Promise.all([services.close(), training?.close()]);
    },
  };
}

function servicesOf(options: ServiceOptions, { storage, queue, uploads, forget }: Backend): AccountServices {
  const { workers, device, maxWaiting } = options;
  return accountServices({
    storage,
    ...(uploads === 'storage' ? { uploadsInStorage: true } : { uploadDirectory: uploads.directory }),
    trainer: {
      allowPrivateAddresses: options.allowPrivateAddresses,
      isolation: options.isolation,
      device,
      ...(queue && { queue }),
      runsJobs: queue === undefined,
    },
    inference: { device, ...(workers && { workers }), ...(maxWaiting && { maxWaiting }) },
    forget,
  });
}

/** A trainer takes up what is left when it is made. */
function takeUpJobs({ trainer }: AccountServices, keys: readonly StoredKey[]): void {
  for (const { app_id, tier } of keys) trainer({ app_id, tier });
}
