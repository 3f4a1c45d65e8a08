/** Entry point of an inference worker thread. */
import { parentPort, workerData } from 'node:worker_threads';
import { describeError, toOrchardError } from '../errors.js';
import { type InferenceOptions, inlineInference } from './inline-service.js';
import type { PoolMessage, WorkerMessage } from './messages.js';

const options: InferenceOptions = workerData;
const service = inlineInference(options);

async function predict({ id, directory, texts }: Extract<PoolMessage, { type: 'predict' }>): Promise<void> {
  const answer: WorkerMessage = await service.predict(directory, texts).then(
    (predictions) => ({ id, predictions }),
    (thrown) => ({ id, error: describeError(toOrchardError(thrown, 'inference')) }),
  );
  parentPort?.postMessage(answer);
}

parentPort?.on('message', (message: PoolMessage) => {
  if (message.type === 'predict') void predict(message);
  else if (message.type === 'forget') service.forget(message.directory);
  else void service.close().then(() => parentPort?.close());
});
