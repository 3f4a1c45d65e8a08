import { ResultAsync } from 'neverthrow';
import type { GraphExecutor } from '../graph/index.js';
import { runTraining } from './run-training.js';
import type { TrainingHost } from './training-run.js';

/** Trains in the caller's thread. Each step blocks it: for scripts and tests. */
export function inlineHost(executor?: GraphExecutor): TrainingHost {
  const running = new Set<Promise<unknown>>();
  return {
    run(spec, options) {
      const outcome = Promise.resolve(runTraining(spec, options, executor));
      running.add(outcome);
      outcome.finally(() => running.delete(outcome));
      return new ResultAsync(outcome);
    },
    async close() {
      await Promise.all(running);
    },
  };
}
