import type { TrainingStats } from '../contract/index.js';
import { reviveError, TrainingError } from '../errors.js';
import type { HostMessage, RunnerMessage } from './messages.js';
import { trackingHost } from './tracking-host.js';
import type { TrainingHost, TrainingRunOptions, TrainingSpec } from './training-run.js';

/** A started thread or process, as a host sees it. */
export interface Runner {
  send(message: HostMessage): void;
  onMessage(listener: (message: RunnerMessage) => void): void;
  /** Called once, when it has gone. @param reason why, where it did not leave by itself. */
  onExit(listener: (reason: string | undefined) => void): void;
}

/**
 * Trains in a runner of its own for each run. A run is stopped by asking, and a runner leaves by itself: a
 * thread that is terminated while ONNX Runtime works takes the whole process with it.
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
    runner.onExit((reason = 'it left without a result') => {
      signal.removeEventListener('abort', abort);
      if (outcome?.type === 'done') return resolve(outcome.stats);
      if (outcome?.type === 'failed') return reject(reviveError(outcome.error));
      reject(new TrainingError(`the training of job ${spec.id} broke off: ${reason}`));
    });
    runner.send({ type: 'run', spec });
    if (signal.aborted) abort();
  });
}
