import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { deleteUnseen, namesIn } from './durable-files.js';
import { ownerOf } from './owned-name.js';

/** No write takes this long, so a file this old was left by a crash, whoever made it. */
const MAX_AGE_MS = 60 * 60 * 1000;

/**
 * Deletes what writers that have died left in a directory of temporary files, and keeps what living ones have.
 * Whether those of another machine live can't be seen: theirs go after an hour.
 */
export async function sweepTemporaryFiles(directory: string): Promise<void> {
  const names = await namesIn(directory);
  await Promise.allSettled(names.map((name) => deleteIfLeft(name, join(directory, name))));
}

async function deleteIfLeft(name: string, path: string): Promise<void> {
  const owner = ownerOf(name);
  if (owner === 'living') return;
  if (owner === 'ended' || Date.now() - (await stat(path)).mtimeMs > MAX_AGE_MS) await deleteUnseen(path);
}
