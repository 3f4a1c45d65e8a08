import { parentPort, workerData } from 'node:worker_threads';
import { describeError, toOrchardError } from '../contract/index.js';
import { STOP_SIGNALS } from '../system/index.js';
import { countNativeWorkIn } from './encoder-runs.js';
import { InlineWorker, type WorkerOptions } from './inline-worker.js';
import type { PoolMessage, WorkerMessage, WorkerSettings } from './remote-worker.js';
import type { BatchAnswer, Loaded } from './worker.js';

/** Entry point of the worker thread or child process in which models run. */

const settings: WorkerSettings | WorkerOptions = parentPort === null ? JSON.parse(process.argv[2] ?? '{}') : workerData;
if ('nativeCalls' in settings) countNativeWorkIn(settings.nativeCalls);
const worker = new InlineWorker(settings);

function send(message: WorkerMessage): void {
  if (parentPort === null) process.send?.(message, undefined, undefined, () => undefined);
  else parentPort.postMessage(message);
}

async function answer(ask: number, work: Promise<BatchAnswer | Loaded>): Promise<void> {
  const message: WorkerMessage = await work.then(
    (done) => ('ms' in done ? { ask, loaded: done } : { ask, answer: done }),
    (thrown: unknown) => ({ ask, error: describeError(toOrchardError(thrown, 'inference')) }),
  );
  send(message);
}

/** Nothing keeps it any longer. */
function leave(): void {
  if (parentPort !== null) parentPort.unref();
  else if (process.connected) process.disconnect();
}

function take(message: PoolMessage): void {
  if (message.type === 'run') void answer(message.ask, worker.run(message.batch));
  else if (message.type === 'resume') void answer(message.ask, worker.resume(message.id, message.alone));
  else if (message.type === 'load') void answer(message.ask, worker.load(message.directory, message.version));
  else if (message.type === 'cancel') worker.cancel(message.id, message.positions);
  else if (message.type === 'forget') worker.forget(message.directory);
  else void worker.close().finally(leave);
}

if (parentPort !== null) parentPort.on('message', take);
else {
  process.on('message', take);
  // The application is gone, or needs it no longer.
  process.once('disconnect', () => process.exit());
  // A signal to the whole group is for the application to follow.
  for (const signal of STOP_SIGNALS) process.on(signal, () => undefined);
}
