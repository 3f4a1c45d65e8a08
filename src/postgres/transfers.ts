import { createHash } from 'node:crypto';
import { mkdir, open, utimes } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { CHUNK_BYTES, chunksOf, type FileContent, type FolderFile } from '../system/index.js';
import { withRetry } from './connection-errors.js';
import type { Database } from './database.js';

/** A file in the database. */
interface StoredFile extends FolderFile {
  readonly id: string;
}

/** Thrown if a folder is removed while it is fetched. */
export class FolderGone extends Error {
  override readonly name = 'FolderGone';
}

/** The files of a folder in the database. */
export async function storedFiles(database: Database, folder: string): Promise<StoredFile[]> {
  const rows = await database.query<Omit<StoredFile, 'size'> & { size: string }>(
    `SELECT id, path, size, encode(sha256, 'hex') AS sha256, modified AS "modifiedMs"
     FROM ${database.table('folder_files')} JOIN ${database.table('files')} ON file = id WHERE folder = $1`,
    [folder],
    { isRepeatable: true },
  );
  return rows.map((row) => ({ ...row, size: Number(row.size) }));
}

/**
 * Sends one file, chunk by chunk.
 * @param owner the folder that is uploaded.
 * @returns the id of the file.
 * @throws Error if the file is written meanwhile.
 */
export function sendFile(database: Database, owner: string, path: string, content: FileContent): Promise<string> {
  return withRetry(() =>
    database.transaction(async (query) => {
      // The transaction that shows the folder waits for the disk; nothing counts before it.
      await query('SET LOCAL synchronous_commit = off');
      const [file] = await query<{ id: string }>(
        `INSERT INTO ${database.table('files')} (owner, sha256, size) VALUES ($1, decode($2, 'hex'), $3) RETURNING id`,
        [owner, content.sha256, content.size],
      );
      if (file === undefined) throw new Error('the database returned no id for a file');
      const insert = `INSERT INTO ${database.table('chunks')} (file, number, bytes) VALUES ($1, $2, $3)`;
      const hash = createHash('sha256');
      let number = 0;
      for await (const chunk of chunksOf(path)) {
        hash.update(chunk);
        await query(insert, [file.id, number, chunk]);
        number += 1;
      }
      if (hash.digest('hex') === content.sha256) return file.id;
      throw new Error(`${path} was changed while it was being stored`);
    }),
  );
}

/**
 * Writes the files of a folder into a directory, and checks them.
 * @throws FolderGone; Error if the database holds something else than was stored.
 */
export async function fetchFiles(database: Database, files: readonly StoredFile[], directory: string): Promise<void> {
  for (const file of files) {
    requireInner(file.path);
    const path = join(directory, file.path);
    await mkdir(dirname(path), { recursive: true });
    const target = await open(path, 'wx');
    try {
      const sha256 = await storedHash(database, file, (bytes) => target.writeFile(bytes));
      if (sha256 !== file.sha256) {
        throw new Error(
          `${file.path} is damaged in the database: its SHA-256 is ${sha256}, not ${file.sha256}; restore the database`,
        );
      }
      await target.datasync();
    } finally {
      await target.close();
    }
    // The middle of the millisecond: the call takes seconds, as a double, and rounds down.
    const seconds = (file.modifiedMs + 0.5) / 1000;
    await utimes(path, seconds, seconds);
  }
}

/** The hash of a file, read from the database. @param each gets its bytes, in order. @throws FolderGone */
export async function storedHash(
  database: Database,
  { id, size }: StoredFile,
  each: (bytes: Buffer) => Promise<void> = async () => undefined,
): Promise<string> {
  const hash = createHash('sha256');
  for (let number = 0; number * CHUNK_BYTES < size; number += 1) {
    const [row] = await withRetry(() =>
      database.query<{ bytes: Buffer }>(
        `SELECT bytes FROM ${database.table('chunks')} WHERE file = $1 AND number = $2`,
        [id, number],
        { isRepeatable: true },
      ),
    );
    if (row === undefined) throw new FolderGone(`chunk ${number} of file ${id} was removed`);
    hash.update(row.bytes);
    await each(row.bytes);
  }
  return hash.digest('hex');
}

/** @throws Error for a path that leads out of its folder. */
function requireInner(path: string): void {
  const isOdd = (part: string) => part === '' || part === '.' || part === '..';
  if (path.split('/').some(isOdd) || (sep !== '/' && path.includes(sep))) {
    throw new Error(`a folder in the database has a file ${JSON.stringify(path)}, which is no path inside it`);
  }
}
