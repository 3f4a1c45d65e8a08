import type { GraphExecutor } from '../graph/index.js';
import { childProcessHost } from './child-process-host.js';
import { inlineHost } from './inline-host.js';
import type { TrainingHost } from './training-run.js';
import { workerHost } from './worker-host.js';

/** Where training takes place: a worker thread, a child process, or the caller's own thread (which it blocks). */
export type TrainingIsolation = 'worker' | 'process' | 'inline';

const hosts: Readonly<Record<TrainingIsolation, (executor?: GraphExecutor) => TrainingHost>> = {
  worker: workerHost,
  process: childProcessHost,
  inline: inlineHost,
};

/** @param executor used by `inline` alone: it can't cross to a thread or process. Default: ONNX Runtime. */
export function createTrainingHost(isolation: TrainingIsolation, executor?: GraphExecutor): TrainingHost {
  return hosts[isolation](executor);
}
