/** Entry point of the worker thread or child process in which one training run takes place. */
import { parentPort } from 'node:worker_threads';
import { describeError } from '../error-description.js';
import { toOrchardError } from '../errors.js';
import type { HostMessage, RunnerMessage } from './messages.js';
import { runTraining } from './run-training.js';
import { announceRunner, endEarlierRunner } from './sole-runner.js';
import type { TrainingRunEvent } from './training-events.js';
import type { TrainingSpec } from './training-run.js';

/** The connection to the host that started this runner. */
interface Port {
  send(message: RunnerMessage): void;
  listen(listener: (message: HostMessage) => void): void;
  /** Lets the thread or process end by itself: ending it from outside while a step runs would crash it. */
  close(): void;
}

function openPort(): Port {
  const worker = parentPort;
  if (worker !== null) {
    return {
      send: (message) => worker.postMessage(message),
      listen: (listener) => worker.on('message', listener),
      close: () => worker.close(),
    };
  }
  return {
    send: (message) => process.send?.(message),
    listen: (listener) => process.on('message', listener),
    close: () => process.disconnect(),
  };
}

const port = openPort();
const stop = new AbortController();
// Without its parent, nobody waits for a child process.
process.on('disconnect', () => stop.abort());

async function run(spec: TrainingSpec): Promise<void> {
  const onEvent = (event: TrainingRunEvent) => port.send({ type: 'event', event });
  try {
    await endEarlierRunner(spec.directory);
    if (parentPort === null) await announceRunner(spec.directory);
    const stats = await runTraining(spec, { signal: stop.signal, onEvent });
    port.send({ type: 'done', stats });
  } catch (thrown) {
    port.send({ type: 'failed', error: describeError(toOrchardError(thrown, 'training')) });
  }
  port.close();
}

port.listen((message) => {
  if (message.type === 'abort') stop.abort();
  else void run(message.spec);
});
