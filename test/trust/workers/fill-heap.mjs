/** Stands for a training that needs far more memory than was estimated. */
import { parentPort } from 'node:worker_threads';

parentPort.on('message', () => {
  const kept = [];
  for (;;) kept.push(Array.from({ length: 1000 }, (_, at) => ({ at })));
});
