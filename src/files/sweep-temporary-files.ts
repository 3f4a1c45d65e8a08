import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { deleteUnseen, namesIn } from './durable-files.js';

/** No write takes this long, so an older temporary file was left by a crash. */
const MAX_AGE_MS = 60 * 60 * 1000;

/** Deletes what crashed writers left in a directory of temporary files, and keeps those of living writers. */
export async function sweepTemporaryFiles(directory: string): Promise<void> {
  const names = await namesIn(directory);
  await Promise.allSettled(names.map((name) => deleteIfOld(join(directory, name))));
}

async function deleteIfOld(path: string): Promise<void> {
  const { mtimeMs } = await stat(path);
  if (Date.now() - mtimeMs > MAX_AGE_MS) await deleteUnseen(path);
}
