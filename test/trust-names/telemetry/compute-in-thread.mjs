/**
 * Runs a graph in a thread of the application's; the main thread doesn't know Orchard.
 * @param argv.2 the thread's options as JSON.
 * @param argv.3 `blocked`: the main thread waits for the thread without its event loop.
 */
import { Worker } from 'node:worker_threads';

const ended = new Int32Array(new SharedArrayBuffer(4));
const source = `
  import(${JSON.stringify(new URL('./compute.mjs', import.meta.url))}).finally(() => {
    const { workerData } = require('node:worker_threads');
    Atomics.store(workerData, 0, 1);
    Atomics.notify(workerData, 0);
  });`;
new Worker(source, { eval: true, workerData: ended, ...JSON.parse(process.argv[2]) });
if (process.argv[3] === 'blocked' && Atomics.wait(ended, 0, 0, 60_000) === 'timed-out') process.exit(3);
