import { parentPort } from 'node:worker_threads';
import { type ArchiveTask, serveRows, writeArchiveHere } from '../families/index.js';
import { type DatasetTask, packDataset } from './training/prepare-dataset.js';

/** Entry point of the thread that reads, checks and writes the rows of one call. */

if (parentPort !== null) {
  serveRows<ArchiveTask | DatasetTask>(parentPort, (task) =>
    task.kind === 'dataset' ? packDataset(task) : writeArchiveHere(task),
  );
}
