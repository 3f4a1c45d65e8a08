import type { TrainingHost } from './training-run.js';

/** A host that trains so, and that waits for the runs under way when it is closed. */
export function trackingHost(train: TrainingHost['run']): TrainingHost {
  const running = new Set<Promise<unknown>>();
  return {
    run(spec, options) {
      const outcome = train(spec, options);
      running.add(outcome);
      const done = () => running.delete(outcome);
      outcome.then(done, done);
      return outcome;
    },
    async close() {
      await Promise.allSettled(running);
    },
  };
}
