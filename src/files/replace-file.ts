import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path';
import { deleteUnseen, ensureDirectory, flushDirectory, move, writeFlushed } from './durable-files.js';

export interface ReplaceOptions {
  /** Permissions of the file. Default: what the umask leaves of 0o666. */
  readonly mode?: number;
  /**
   * Where the content is written before it is renamed to the file, on the same file system. What a crash left
   * there is overwritten. Default: a new name beside the file, so that there may be any number of writers.
   */
  readonly draft?: string;
}

/**
 * Writes a file and flushes it to the medium; its directory is created if it is missing. Readers find the
 * whole earlier or the whole new content, even after a crash at any point.
 */
export async function replaceFile(
  path: string,
  content: string | Uint8Array,
  { mode, draft = `${path}.${randomUUID()}.draft` }: ReplaceOptions = {},
): Promise<void> {
  await ensureDirectory(dirname(path));
  await deleteUnseen(draft); // an existing one would keep its permissions
  try {
    await writeFlushed(draft, content, mode);
    await move(draft, path);
  } catch (thrown) {
    await deleteUnseen(draft);
    throw thrown;
  }
  await flushDirectory(dirname(path));
}
