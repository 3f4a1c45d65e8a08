import { parentPort } from 'node:worker_threads';
import { type ArchiveTask, serveRows, writeArchiveHere } from '../families/index.js';

/** Entry point of the thread that reads, checks and writes the rows of one call. */

if (parentPort !== null) serveRows<ArchiveTask>(parentPort, writeArchiveHere);
