import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { loadModel } from 'orchard-nlp';

/** `program.mjs <load|busy> <exit|sigterm|throw|terminate> <ms> [isolation]`: ends after so long, while a model is loaded or asked. */

const [during, end, ms, isolation = 'worker'] = isMainThread ? process.argv.slice(2) : workerData;

async function work(isReady) {
  if (during === 'load') isReady();
  const model = (await loadModel('sentiment-classification', { isolation }))._unsafeUnwrap();
  const texts = Array.from({ length: 300 }, (_, at) => `a text ${at} about many things`);
  await model.predict('a text');
  if (during === 'busy') isReady();
  for (;;) await model.predict(texts);
}

const ends = {
  exit: () => process.exit(3),
  // The bench sends the signal after this line.
  sigterm: () => console.log('ready'),
  throw: () => {
    throw new Error('on purpose');
  },
};

if (!isMainThread) void work(() => parentPort.postMessage('ready'));
else if (end === 'terminate') {
  const worker = new Worker(fileURLToPath(import.meta.url), { workerData: [during, '', '0', isolation] });
  await new Promise((resolve) => worker.once('message', resolve));
  await sleep(Number(ms));
  await worker.terminate();
  console.log('alive');
} else {
  process.once('SIGTERM', () => process.exit(3));
  void work(() => setTimeout(ends[end], Number(ms)));
}
