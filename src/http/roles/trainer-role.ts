import type { Registry } from 'prom-client';
import type { SharedJobQueue } from '../../jobs/index.js';
import type { Storage } from '../../storage/index.js';
import { JobRunner } from '../../trainer/index.js';
import { probeHandler } from '../probes.js';
import { readinessOf } from '../readiness.js';
import { type RunningServer, serve } from '../serve.js';
import type { ServiceOptions } from '../start-service.js';
import { uploadReadingHost } from '../upload-host.js';
import type { Backend } from './backend.js';
import { processMetrics, serverOptions } from './process.js';
import { countingHost } from './training-metrics.js';

/** What trains: the jobs of all accounts that a queue hands out. */
export interface Training {
  /** Leaves the jobs that run here for others, at their last step. */
  close(): Promise<void>;
}

/** Trains for all accounts, uploads of the page included; a backend stays open. */
export function startTraining(
  { jobs = 1, isolation, device }: Pick<ServiceOptions, 'jobs' | 'isolation' | 'device'>,
  { storage, queue }: { readonly storage: Storage; readonly queue: SharedJobQueue },
  registry: Registry,
): Training {
  const host = countingHost(uploadReadingHost({ isolation }, storage), registry);
  const runner = new JobRunner({ storage, queue, host, device, atOnce: jobs });
  return {
    async close() {
      await runner.close();
      await host.close();
    },
  };
}

/** The role `trainer`: trains, and answers /health, /ready and /metrics alone. */
export async function serveTraining(
  options: ServiceOptions,
  { storage, queue, checks }: Backend & { readonly queue: SharedJobQueue },
): Promise<RunningServer> {
  const ready = readinessOf(checks);
  const registry = processMetrics();
  const server = await serve(probeHandler({ ready, log: options.log, registry }), serverOptions(options));
  const training = startTraining(options, { storage, queue }, registry);
  return {
    url: server.url,
    async close() {
      await Promise.all([training.close(), server.close()]);
    },
  };
}
