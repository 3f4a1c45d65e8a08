/** Entry point of an inference worker thread. */
import { parentPort, workerData } from 'node:worker_threads';
import { describeError } from '../error-description.js';
import { toOrchardError } from '../errors.js';
import { InlineLane, type LaneOptions } from './inline-lane.js';
import type { BatchAnswer } from './lane.js';
import type { PoolMessage, WorkerMessage } from './messages.js';

const options: LaneOptions = workerData;
const lane = new InlineLane(options);

async function answer(ask: number, work: Promise<BatchAnswer | number>): Promise<void> {
  const message: WorkerMessage = await work.then(
    (done) => (typeof done === 'number' ? { ask, loadMs: done } : { ask, answer: done }),
    (thrown: unknown) => ({ ask, error: describeError(toOrchardError(thrown, 'inference')) }),
  );
  parentPort?.postMessage(message);
}

parentPort?.on('message', (message: PoolMessage) => {
  if (message.type === 'run') void answer(message.ask, lane.run(message.batch));
  else if (message.type === 'load') void answer(message.ask, lane.load(message.directory));
  else if (message.type === 'cancel') lane.cancel(message.id, message.positions);
  else if (message.type === 'forget') lane.forget(message.directory);
  else void lane.close().then(() => parentPort?.close());
});
