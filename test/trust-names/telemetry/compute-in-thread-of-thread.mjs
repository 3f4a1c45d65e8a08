/** Runs a graph in a thread that another thread of the application's has started. */
import { Worker } from 'node:worker_threads';

new Worker(new URL('./compute-in-thread.mjs', import.meta.url), { argv: ['{}'] });
