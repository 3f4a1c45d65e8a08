import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { StorageError } from '../errors.js';
import { deleteUnseen, move } from '../files/index.js';

/** The same for every entry, so that the same files give the same bytes. */
const ENTRY_TIME = new Date(2000, 0, 1);

/**
 * Writes a zip of text files, whole or not at all; an earlier file of that path is replaced.
 * @param files contents by path inside the archive, with "/".
 * @throws StorageError
 */
export async function writeZip(path: string, files: Readonly<Record<string, string>>): Promise<void> {
  // Loaded here, so that applications that only predict don't wait for it.
  const { ZipFile } = await import('yazl');
  const zip = new ZipFile();
  for (const [name, contents] of Object.entries(files)) {
    zip.addBuffer(Buffer.from(contents), name, { mtime: ENTRY_TIME, forceDosTimestamp: true });
  }
  zip.end();
  const partial = `${path}.${process.pid}.partial`;
  try {
    await mkdir(dirname(path), { recursive: true });
    await pipeline(zip.outputStream, createWriteStream(partial));
    await move(partial, path);
  } catch (thrown) {
    await deleteUnseen(partial);
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new StorageError(`writing ${path}: ${reason}`, { cause: thrown });
  }
}
