import { Worker } from 'node:worker_threads';
import { turnTelemetryOffForThreads } from '../runtime-telemetry.js';
import { type Runner, runnerHost, runnerUrl } from './runner-host.js';
import type { TrainingHost } from './training-run.js';

/** Trains in a worker thread: the caller's event loop stays free. */
export function workerHost(): TrainingHost {
  return runnerHost(startWorker);
}

function startWorker(): Runner {
  turnTelemetryOffForThreads();
  const worker = new Worker(runnerUrl());
  let reason: string | undefined;
  worker.on('error', (error) => {
    reason = error.message;
  });
  return {
    send: (message) => worker.postMessage(message),
    onMessage: (listener) => worker.on('message', listener),
    onExit: (listener) => worker.once('exit', () => listener({ ...(reason !== undefined && { reason }) })),
  };
}
