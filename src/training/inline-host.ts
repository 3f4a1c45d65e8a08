import type { GraphExecutor } from '../graph/index.js';
import { runTraining } from './run-training.js';
import { trackingHost } from './tracking-host.js';
import type { TrainingHost } from './training-run.js';

/** Trains in the caller's thread. Each step blocks it: for scripts and tests. */
export function inlineHost(executor?: GraphExecutor): TrainingHost {
  return trackingHost((spec, options) => runTraining(spec, options, executor));
}
