import { createHash } from 'node:crypto';
import { mkdir, open, utimes } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { CHUNK_BYTES, chunksOf, type FileContent, type FolderFile } from '../files/index.js';
import type { Database, Query } from './database.js';
import { patiently } from './patiently.js';

/** A file that the database has. */
export interface StoredFile extends FolderFile {
  readonly id: string;
}

interface FileRow {
  readonly id: string;
  readonly path: string;
  readonly size: string;
  readonly sha256: string;
  readonly modified: number;
}

/** The files of a folder in the database. */
export async function storedFiles(database: Database, folder: string): Promise<StoredFile[]> {
  const rows = await database.query<FileRow>(
    `SELECT id, path, size, encode(sha256, 'hex') AS sha256, modified
     FROM ${database.table('folder_files')} JOIN ${database.table('files')} ON file = id WHERE folder = $1`,
    [folder],
    { isRepeatable: true },
  );
  return rows.map(({ size, modified, ...row }) => ({ ...row, size: Number(size), modifiedMs: modified }));
}

/**
 * Sends one file, chunk by chunk.
 * @param owner the folder that is uploaded.
 * @returns the id of the file.
 * @throws Error if the file is being written.
 */
export function sendFile(
  database: Database,
  owner: string,
  path: string,
  content: FileContent,
): Promise<string> {
  return patiently(() =>
    database.transaction(async (query) => {
      // What is sent here counts only with the transaction that shows the folder, and is flushed with that one.
      await query('SET LOCAL synchronous_commit = off');
      const [file] = await query<{ id: string }>(
        `INSERT INTO ${database.table('files')} (owner, sha256, size) VALUES ($1, decode($2, 'hex'), $3) RETURNING id`,
        [owner, content.sha256, content.size],
      );
      if (file === undefined) throw new Error('no id came back for a file');
      const sent = await sendChunks(database, query, file.id, path);
      if (sent === content.sha256) return file.id;
      throw new Error(`${path} was changed while it was being stored`);
    }),
  );
}

/** @returns the hash of what was sent. */
async function sendChunks(database: Database, query: Query, file: string, path: string): Promise<string> {
  const hash = createHash('sha256');
  let number = 0;
  for await (const chunk of chunksOf(path)) {
    hash.update(chunk);
    await query(`INSERT INTO ${database.table('chunks')} (file, number, bytes) VALUES ($1, $2, $3)`, [
      file,
      number,
      chunk,
    ]);
    number += 1;
  }
  return hash.digest('hex');
}

/** Thrown where a folder is removed while it is fetched. */
export class GoneMeanwhile extends Error {
  override readonly name = 'GoneMeanwhile';
}

/**
 * Writes the files of a folder into a directory, and checks them.
 * @throws GoneMeanwhile, Error if the database holds something else than was put there.
 */
export async function fetchFiles(
  database: Database,
  files: readonly StoredFile[],
  directory: string,
): Promise<void> {
  for (const file of files) {
    requireInner(file.path);
    const path = join(directory, file.path);
    await mkdir(dirname(path), { recursive: true });
    const sha256 = await fetchFile(database, file, path);
    if (sha256 !== file.sha256) {
      throw new Error(
        `${file.path} is damaged in the database: its SHA-256 is ${sha256}, not ${file.sha256}; restore the database`,
      );
    }
    await setModified(path, file.modifiedMs);
  }
}

/** The middle of the millisecond, as the call takes seconds and cuts off what a double can't hold. */
function setModified(path: string, modifiedMs: number): Promise<void> {
  const seconds = (modifiedMs + 0.5) / 1000;
  return utimes(path, seconds, seconds);
}

/** @throws Error for a path that would lead out of its folder. */
function requireInner(path: string): void {
  const parts = path.split('/');
  const isOdd = (part: string) => part === '' || part === '.' || part === '..';
  if (parts.some(isOdd) || (sep !== '/' && path.includes(sep))) {
    throw new Error(
      `a folder in the database has a file ${JSON.stringify(path)}, which is no path inside it`,
    );
  }
}

/** @returns the hash of what was written. */
async function fetchFile(database: Database, { id, size }: StoredFile, path: string): Promise<string> {
  const hash = createHash('sha256');
  const target = await open(path, 'wx');
  try {
    for (let number = 0; number * CHUNK_BYTES < size; number += 1) {
      const bytes = await chunk(database, id, number);
      hash.update(bytes);
      await target.writeFile(bytes);
    }
    await target.datasync();
  } finally {
    await target.close();
  }
  return hash.digest('hex');
}

async function chunk(database: Database, file: string, number: number): Promise<Buffer> {
  const [row] = await patiently(() =>
    database.query<{ bytes: Buffer }>(
      `SELECT bytes FROM ${database.table('chunks')} WHERE file = $1 AND number = $2`,
      [file, number],
      { isRepeatable: true },
    ),
  );
  if (row === undefined) throw new GoneMeanwhile(`chunk ${number} of file ${file} is gone`);
  return row.bytes;
}

/** The hash of a file, read from the database. @throws GoneMeanwhile */
export async function storedHash(database: Database, { id, size }: StoredFile): Promise<string> {
  const hash = createHash('sha256');
  for (let number = 0; number * CHUNK_BYTES < size; number += 1)
    hash.update(await chunk(database, id, number));
  return hash.digest('hex');
}
