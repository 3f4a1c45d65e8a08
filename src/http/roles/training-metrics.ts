import { Counter, Gauge, type Registry } from 'prom-client';
import { isOrchardError } from '../../errors.js';
import type { TrainingHost } from '../../training/index.js';

/** Counts the runs of a host in a registry: those under way, and those that ended, by how. */
export function countingHost(host: TrainingHost, registry: Registry): TrainingHost {
  const registers = [registry];
  const running = new Gauge({
    name: 'orchard_training_runs',
    help: 'Training runs under way in this process',
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
