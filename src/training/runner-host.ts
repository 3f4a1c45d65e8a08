import type { TrainingStats } from '../contract/index.js';
import { reviveError } from '../error-description.js';
import { TrainingError } from '../errors.js';
import type { HostMessage, RunnerMessage } from './messages.js';
import type { TrainingHost, TrainingRunOptions, TrainingSpec } from './training-run.js';

/** A started thread or process, as a host sees it. */
export interface Runner {
  send(message: HostMessage): void;
  onMessage(listener: (message: RunnerMessage) => void): void;
  /** Called once, when it has exited. @param reason why, if it did not exit by itself. */
  onExit(listener: (reason: string | undefined) => void): void;
}

/**
 * Trains each run in a runner of its own. A runner is asked to stop and exits by itself: terminating a thread
 * while ONNX Runtime works would crash the whole process.
 */
export function runnerHost(start: () => Runner): TrainingHost {
  return trackingHost((spec, options) => runIn(start(), spec, options));
}

function runIn(
  runner: Runner,
  spec: TrainingSpec,
  { signal, onEvent }: TrainingRunOptions,
): Promise<TrainingStats> {
  return new Promise((resolve, reject) => {
    let outcome: Exclude<RunnerMessage, { readonly type: 'event' }> | undefined;
    const abort = () => runner.send({ type: 'abort' });
    signal.addEventListener('abort', abort, { once: true });
    runner.onMessage((message) => {
      if (message.type === 'event') onEvent(message.event);
      else outcome = message;
    });
    runner.onExit((reason = 'it exited without a result') => {
      signal.removeEventListener('abort', abort);
      if (outcome?.type === 'done') return resolve(outcome.stats);
      if (outcome?.type === 'failed') return reject(reviveError(outcome.error));
      reject(new TrainingError(`the training of job ${spec.id} broke off: ${reason}`));
    });
    runner.send({ type: 'run', spec });
    if (signal.aborted) abort();
  });
}

/** The built entry point of the runner lies beside every built file of this package. */
export function runnerUrl(): URL {
  return new URL('./training-runner.js', import.meta.url);
}

/** A host that trains with `train`, and when it is closed waits for the runs in progress. */
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
