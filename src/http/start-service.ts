import { open } from 'node:fs/promises';
import { devNull } from 'node:os';
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { type Device, isOrchardError, type Runtime } from '../contract/index.js';
import { JobRunner } from '../jobs/index.js';
import type { TrainingHost, TrainingIsolation } from '../training/index.js';
import { type AccountLimits, limitsAmong } from './account-limits.js';
import { hashedKeys, type StoredKey } from './api-keys.js';
import { type Backend, databaseBackend, folderBackend, type LimitSettings } from './backends.js';
import { createHandler, type Handler, probeHandler } from './create-handler.js';
import { type AccessLogEntry, type ReadinessCheck, readinessOf } from './probes.js';
import { type RunningServer, serve } from './serve.js';
import { type AccountServices, accountServices } from './services.js';
import { uploadReadingHost } from './uploads.js';

const MAX_WAITING = 2000;

/** A whole service. docs/http.md describes each option. */
interface ServiceOptions extends LimitSettings {
  readonly host: string;
  readonly port: number;
  /** The folder of jobs and models; with a database, a local cache. */
  readonly data: string;
  readonly database?: string | undefined;
  readonly schema?: string | undefined;
  readonly role?: 'api' | 'trainer' | 'all' | undefined;
  readonly jobs?: number | undefined;
  readonly connections?: number | undefined;
  readonly trustProxy: boolean;
  readonly allowPrivateAddresses: boolean;
  readonly isolation: TrainingIsolation;
  readonly device: Device;
  /** What answers. Default auto. */
  readonly runtime?: Runtime | undefined;
  readonly workers?: number | undefined;
  readonly maxWaiting?: number | undefined;
  readonly watchDrift?: boolean | undefined;
  readonly maxConnections?: number | undefined;
  /** What each account may hold open, and how many of its queries may wait: half of `maxWaiting` by default. */
  readonly accountLimits?: (AccountLimits & { readonly waiting?: number }) | undefined;
  readonly keys: readonly StoredKey[];
  /** Keys that may erase accounts and remove unused models. */
  readonly operatorKeys?: readonly StoredKey[];
  readonly log: (entry: AccessLogEntry) => void;
  /** Called with problems that the service survives but an operator should know. */
  readonly warn: (message: string) => void;
}

/**
 * Serves the models in a folder or database to the accounts with keys. Unfinished jobs of an earlier service continue at
 * once. `close` finishes open requests, then stops training; running jobs continue when a service starts again, or in
 * another process of the same database.
 */
export async function startService(options: ServiceOptions): Promise<RunningServer> {
  const { database, data, schema, connections, warn, role = 'all' } = options;
  const backend =
    database === undefined ? folderBackend(data) : await databaseBackend({ data, database, schema, connections, warn });
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const services = role === 'trainer' ? undefined : servicesOf(options, backend);
  try {
    const server = await serve(handlerOf(options, { backend, registry, services }), {
      host: options.host,
      port: options.port,
      trustProxy: options.trustProxy,
      ...(options.maxConnections && { maxConnections: options.maxConnections }),
    });
    const training = role === 'api' ? undefined : startTraining(options, backend, registry);
    // Without a queue, a trainer continues the account's unfinished jobs when it is created.
    if (backend.queue === undefined) for (const { app_id, tier } of options.keys) services?.trainer({ app_id, tier });
    return {
      url: server.url,
      async close() {
        const ended = services === undefined ? training?.close() : undefined; // no requests to wait for
        await server.close();
        const endings = await Promise.allSettled([ended ?? training?.close(), services?.close()]);
        await backend.close();
        for (const ending of endings) if (ending.status === 'rejected') throw ending.reason;
      },
    };
  } catch (thrown) {
    await services?.close();
    await backend.close();
    throw thrown;
  }
}

function servicesOf(options: ServiceOptions, { storage, queue, forget }: Backend): AccountServices {
  const {
    workers,
    device,
    runtime,
    maxWaiting = MAX_WAITING,
    allowPrivateAddresses,
    isolation,
    accountLimits,
    watchDrift,
  } = options;
  const maxWaitingPerAccount = accountLimits?.waiting ?? Math.ceil(maxWaiting / 2);
  return accountServices({
    storage,
    trainer: {
      ...{ allowPrivateAddresses, isolation, device },
      ...(queue && { queue }),
      runsJobs: queue === undefined,
    },
    inference: { device, ...(runtime && { runtime }), ...(workers && { workers }), maxWaiting, maxWaitingPerAccount },
    watchDrift,
    forget,
  });
}

function handlerOf(
  { keys, operatorKeys = [], log, accountLimits, maxConnections, ...limits }: ServiceOptions,
  parts: { backend: Backend; registry: Registry; services: AccountServices | undefined },
): Handler {
  const { backend, registry, services } = parts;
  const probes = { ready: readinessOf([opensFiles, ...backend.checks]), log, registry };
  if (services === undefined) return probeHandler(probes);
  return createHandler({
    ...services,
    ...backend.limiters(limits),
    authenticate: hashedKeys(keys),
    ...(operatorKeys.length > 0 && { authenticateOperator: hashedKeys(operatorKeys) }),
    accountLimits: { ...(maxConnections && limitsAmong(maxConnections)), ...accountLimits },
    ...probes,
  });
}

const opensFiles: ReadinessCheck = {
  otherwise: 'no file can be opened: too many are open',
  check: async () => (await open(devNull)).close(),
};

/** Trains the jobs of all accounts in the queue. On close, running jobs go to other processes at their last step. */
function startTraining(
  { jobs = 1, isolation, device }: ServiceOptions,
  { storage, queue }: Backend,
  registry: Registry,
): { close(): Promise<void> } | undefined {
  if (queue === undefined) return undefined;
  const host = countingHost(uploadReadingHost({ isolation }, storage), registry);
  const runner = new JobRunner({ storage, queue, host, device, atOnce: jobs });
  return {
    async close() {
      await runner.close();
      await host.close();
    },
  };
}

function countingHost(host: TrainingHost, registry: Registry): TrainingHost {
  const registers = [registry];
  const running = new Gauge({
    name: 'orchard_training_runs',
    help: 'Training runs in progress in this process',
    registers,
  });
  const ended = new Counter({
    name: 'orchard_training_runs_total',
    help: 'Training runs that ended in this process: done, stopped (cancelled, or left to another process) or failed',
    labelNames: ['outcome'] as const,
    registers,
  });
  return {
    async run(spec, options) {
      running.inc();
      try {
        const stats = await host.run(spec, options);
        ended.inc({ outcome: 'done' });
        return stats;
      } catch (thrown) {
        const isStopped = isOrchardError(thrown) && thrown.code === 'aborted';
        ended.inc({ outcome: isStopped ? 'stopped' : 'failed' });
        throw thrown;
      } finally {
        running.dec();
      }
    },
    close: () => host.close(),
  };
}
