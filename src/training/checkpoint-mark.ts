import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

/** Downloads, checkpoints and whatever else a run needs only while it runs. */
export const WORK_FOLDER = 'work';

export function checkpointFile(directory: string): string {
  return join(directory, WORK_FOLDER, 'checkpoint.safetensors');
}

/**
 * Another text for each checkpoint that runs in this directory write, and the same one wherever the directory is copied
 * to; null where there is none. So it tells whether a run that broke off had come further than the one before.
 */
export async function checkpointMark(directory: string): Promise<string | null> {
  const file = checkpointFile(directory);
  if ((await stat(file).catch(() => undefined)) === undefined) return null;
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('base64url');
}
