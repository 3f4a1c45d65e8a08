import { startThread } from '../start-thread.js';
import { heapLimit, type Runner, runnerHost, runnerUrl } from './runner-host.js';
import type { TrainingHost, TrainingSpec } from './training-run.js';

/**
 * Trains in a worker thread: the caller's event loop stays free. Where a run fills its heap, it alone ends.
 * @param entry of the worker. Default: the runner's.
 */
export function workerHost(entry?: URL): TrainingHost {
  return runnerHost((spec) => startWorker(entry ?? runnerUrl(), spec));
}

function startWorker(entry: URL, spec: TrainingSpec): Runner {
  const heap = heapLimit(spec);
  const worker = startThread(entry, { ...(heap && { resourceLimits: { maxOldGenerationSizeMb: heap } }) });
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
