import { parentPort } from 'node:worker_threads';
import { describeError, toOrchardError } from '../contract/index.js';
import { STOP_SIGNALS } from '../system/index.js';
import { announceRunner, endEarlierRunner, type HostMessage, type RunnerMessage } from './runner-messages.js';
import type { TrainingRunEvent, TrainingSpec } from './training-run.js';

/** Entry point of the worker thread or child process in which one training run takes place. */

interface Port {
  send(message: RunnerMessage): void;
  listen(listener: (message: HostMessage) => void): void;
  /** Lets the thread or process end on its own: ending it from outside while a step runs would crash it. */
  close(): void;
}

function openPort(): Port {
  const worker = parentPort;
  if (worker !== null) {
    return {
      send: (message) => worker.postMessage(message),
      listen: (listener) => worker.on('message', listener),
      close: () => worker.unref(),
    };
  }
  return {
    // The parent may have died meanwhile: then the message is lost, and nothing else is wrong.
    send: (message) => process.send?.(message, undefined, undefined, () => undefined),
    listen: (listener) => process.on('message', listener),
    close: () => {
      if (process.connected) process.disconnect();
    },
  };
}

const port = openPort();
const stop = new AbortController();
// A child process without its parent has nothing to do.
process.on('disconnect', () => stop.abort());
// A signal to the whole group is for the parent to follow, which then says how this run is to stop.
if (parentPort === null) for (const signal of STOP_SIGNALS) process.on(signal, () => undefined);

// Loaded here: a signal before the lines above would end the process, and what trains takes a while to load.
const loading = import('./run-training.js');
loading.catch(() => undefined); // `run` says why

async function run(spec: TrainingSpec): Promise<void> {
  const onEvent = (event: TrainingRunEvent) => port.send({ type: 'event', event });
  try {
    const { runTraining } = await loading;
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
  if (message.type === 'abort') stop.abort(message.reason);
  else void run(message.spec);
});
