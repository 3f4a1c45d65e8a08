import { parentPort, workerData } from 'node:worker_threads';
import { describeError, toOrchardError } from '../contract/index.js';
import { countNativeWorkIn } from './encoder-runs.js';
import { InlineWorker } from './inline-worker.js';
import type { PoolMessage, WorkerMessage, WorkerSettings } from './thread-worker.js';
import type { BatchAnswer, Loaded } from './worker.js';

/** Entry point of an inference worker thread. */

const settings: WorkerSettings = workerData;
countNativeWorkIn(settings.nativeCalls);
const worker = new InlineWorker(settings);

async function answer(ask: number, work: Promise<BatchAnswer | Loaded>): Promise<void> {
  const message: WorkerMessage = await work.then(
    (done) => ('ms' in done ? { ask, loaded: done } : { ask, answer: done }),
    (thrown: unknown) => ({ ask, error: describeError(toOrchardError(thrown, 'inference')) }),
  );
  parentPort?.postMessage(message);
}

parentPort?.on('message', (message: PoolMessage) => {
  if (message.type === 'run') void answer(message.ask, worker.run(message.batch));
  else if (message.type === 'resume') void answer(message.ask, worker.resume(message.id, message.alone));
  else if (message.type === 'load') void answer(message.ask, worker.load(message.directory, message.version));
  else if (message.type === 'cancel') worker.cancel(message.id, message.positions);
  else if (message.type === 'forget') worker.forget(message.directory);
  else void worker.close().finally(() => parentPort?.unref());
});
