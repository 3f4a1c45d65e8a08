import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { StorageError } from '../contract/index.js';
import { deleteUnseen, move } from '../system/index.js';

/** The same for every entry, so that the same files give the same bytes. */
const ENTRY_TIME = new Date(2000, 0, 1);

/** What an entry holds. */
export type ZipContent = string | { readonly file: string };

/**
 * Writes a zip, whole or not at all; an earlier file of that path is replaced.
 * @param files contents by path inside the archive, with "/": text, or the file that has them.
 * @throws StorageError
 */
export async function writeZip(path: string, files: Readonly<Record<string, ZipContent>>): Promise<void> {
  // Loaded here, so that applications that only predict don't wait for it.
  const { ZipFile } = await import('yazl');
  const zip = new ZipFile();
  for (const [name, contents] of Object.entries(files)) {
    const options = { mtime: ENTRY_TIME, forceDosTimestamp: true };
    if (typeof contents === 'string') zip.addBuffer(Buffer.from(contents), name, options);
    else zip.addFile(contents.file, name, options);
  }
  zip.end();
  const partial = `${path}.${process.pid}.partial`;
  try {
    await mkdir(dirname(path), { recursive: true });
    const written = pipeline(zip.outputStream, createWriteStream(partial));
    // A file that can't be read is told on the zip itself, not on its stream.
    const failed = new Promise<never>((_, reject) => zip.once('error', reject));
    await Promise.race([written, failed]);
    await move(partial, path);
  } catch (thrown) {
    await deleteUnseen(partial);
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new StorageError(`writing ${path}: ${reason}`, { cause: thrown });
  }
}
