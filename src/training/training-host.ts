import type { GraphExecutor } from '../graph/index.js';
import { childProcessHost } from './child-process-host.js';
import { trackingHost } from './runner-host.js';
import { endEarlierRunner } from './sole-runner.js';
import type { TrainingHost } from './training-run.js';
import { workerHost } from './worker-host.js';

/**
 * Where training takes place: in a worker thread, a child process, or the caller's own thread, which each
 * step then blocks.
 */
export type TrainingIsolation = 'worker' | 'process' | 'inline';

const hosts: Readonly<Record<TrainingIsolation, (executor?: GraphExecutor) => TrainingHost>> = {
  worker: () => workerHost(),
  process: childProcessHost,
  inline: (executor) =>
    trackingHost(async (spec, options) => {
      const { runTraining } = await import('./run-training.js');
      await endEarlierRunner(spec.directory);
      return runTraining(spec, options, executor);
    }),
};

/**
 * @param executor used by `inline` alone, since it can't be sent to a thread or process. Default: ONNX
 *   Runtime.
 */
export function createTrainingHost(isolation: TrainingIsolation, executor?: GraphExecutor): TrainingHost {
  return hosts[isolation](executor);
}
