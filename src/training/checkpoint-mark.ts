import { stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Downloads, checkpoints and whatever else a run needs only while it runs. */
export const WORK_FOLDER = 'work';
const CHECKPOINT = 'checkpoint.safetensors';

export function checkpointFile(directory: string): string {
  return join(directory, WORK_FOLDER, CHECKPOINT);
}

/**
 * Another text for each checkpoint that runs in this directory write; null where there is none. So it tells
 * whether a run that broke off had come further than the one before.
 */
export async function checkpointMark(directory: string): Promise<string | null> {
  const found = await stat(checkpointFile(directory), { bigint: true }).catch(() => undefined);
  return found === undefined ? null : `${found.mtimeNs} ${found.size}`;
}
