import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path';
import { deleteUnseen, ensureDirectory, flushDirectory, move, writeFlushed } from './durable-files.js';

export interface ReplaceOptions {
  /** Permissions of the file. Default: what the umask leaves of 0o666. */
  readonly mode?: number;
  /**
   * Where the content is written before it takes the file's name; on the same file system. One that a crash left there
   * is written over. Default: a new name beside the file, for any number of writers.
   */
  readonly draft?: string;
}

/**
 * Writes a file down to the medium, and its directory where there is none. Whoever reads, also after a crash at any
 * point, finds the whole earlier or the whole new content.
 */
export async function replaceFile(
  path: string,
  content: string | Uint8Array,
  { mode, draft = `${path}.${randomUUID()}.draft` }: ReplaceOptions = {},
): Promise<void> {
  await ensureDirectory(dirname(path));
  await deleteUnseen(draft); // the permissions of one that is there would stay
  try {
    await writeFlushed(draft, content, mode);
    await move(draft, path);
  } catch (thrown) {
    await deleteUnseen(draft);
    throw thrown;
  }
  await flushDirectory(dirname(path));
}
