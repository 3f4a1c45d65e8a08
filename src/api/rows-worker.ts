import { parentPort } from 'node:worker_threads';
import { type ArchiveTask, serveRows, writeArchiveHere } from '../families/index.js';
import { type DatasetTask, packDataset } from './training/prepare-dataset.js';
import { type FoldTask, packTable, type TableTask, writeFold } from './training/read-apart.js';

/** Entry point of the thread that reads, checks and writes the rows of one call. */

function work(task: ArchiveTask | DatasetTask | TableTask | FoldTask): Promise<unknown> {
  switch (task.kind) {
    case 'dataset':
      return packDataset(task);
    case 'table':
    case 'typed-table':
    case 'column':
    case 'texts':
      return packTable(task);
    case 'fold':
      return writeFold(task);
    default:
      return writeArchiveHere(task);
  }
}

if (parentPort !== null) serveRows(parentPort, work);
