import { err, ok, type Result, ResultAsync } from 'neverthrow';
import type { TrainingStats } from '../contract/index.js';
import { type OrchardError, reviveError, TrainingError } from '../errors.js';
import type { HostMessage, RunnerMessage } from './messages.js';
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
  const running = new Set<Promise<unknown>>();
  return {
    run(spec, options) {
      const outcome = runIn(start(), spec, options);
      running.add(outcome);
      const done = () => running.delete(outcome);
      outcome.then(done, done);
      return new ResultAsync(outcome);
    },
    async close() {
      await Promise.all(running);
    },
  };
}

function runIn(
  runner: Runner,
  spec: TrainingSpec,
  { signal, onEvent }: TrainingRunOptions,
): Promise<Result<TrainingStats, OrchardError>> {
  return new Promise((resolve) => {
    let outcome: Result<TrainingStats, OrchardError> | undefined;
    const abort = () => runner.send({ type: 'abort' });
    signal.addEventListener('abort', abort, { once: true });
    runner.onMessage((message) => {
      if (message.type === 'event') onEvent(message.event);
      else outcome = message.type === 'done' ? ok(message.stats) : err(reviveError(message.error));
    });
    runner.onExit((reason = 'it left without a result') => {
      signal.removeEventListener('abort', abort);
      resolve(outcome ?? err(new TrainingError(`the training of job ${spec.id} broke off: ${reason}`)));
    });
    runner.send({ type: 'run', spec });
    if (signal.aborted) abort();
  });
}
