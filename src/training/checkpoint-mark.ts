import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

/** Downloads, checkpoints and whatever else a run needs only while it runs. */
export const WORK_FOLDER = 'work';
const CHECKPOINT = 'checkpoint.safetensors';

export function checkpointFile(directory: string): string {
  return join(directory, WORK_FOLDER, CHECKPOINT);
}

/**
 * Another text for each checkpoint that runs in this directory write, and the same one wherever the directory is copied
 * to; null where there is none. So it tells whether a run that broke off had come further than the one before.
 */
export async function checkpointMark(directory: string): Promise<string | null> {
  const file = checkpointFile(directory);
  if ((await checkpointTime(directory)) === null) return null;
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('base64url');
}

/** When the checkpoint of this directory was written, and how large it is: another text whenever it was; null as above. */
async function checkpointTime(directory: string): Promise<string | null> {
  const found = await stat(checkpointFile(directory), { bigint: true }).catch(() => undefined);
  return found === undefined ? null : `${found.mtimeNs} ${found.size}`;
}
