import { createHash } from 'node:crypto';
import { lstat, open, readdir } from 'node:fs/promises';
import { join, sep } from 'node:path';

/** Bytes of a file that are read, sent and kept together. */
export const CHUNK_BYTES = 1024 * 1024;

/** What a folder's file holds. */
export interface FileContent {
  /** Path inside the folder, with '/'. */
  readonly path: string;
  readonly size: number;
  /** As hexadecimal digits. */
  readonly sha256: string;
}

/** A file of a folder with when it was written. */
export interface FolderFile extends FileContent {
  /** In whole milliseconds since 1970. */
  readonly modifiedMs: number;
}

/** Remembers the hashes of files that have not been touched since. */
export class KnownHashes {
  readonly #known = new Map<string, { readonly stamp: string; readonly sha256: string }>();

  /** The hash of a file, computed unless it is known for this stamp. */
  async of(path: string, stamp: string): Promise<string> {
    const known = this.#known.get(path);
    if (known?.stamp === stamp) return known.sha256;
    const sha256 = await hashOf(path);
    this.#known.set(path, { stamp, sha256 });
    return sha256;
  }
}

/** The files below a directory, in the order of their paths. Directories without files don't count. */
export async function filesIn(directory: string, hashes = new KnownHashes()): Promise<FolderFile[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files: FolderFile[] = [];
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const absolute = join(entry.parentPath, entry.name);
    const path = absolute.slice(directory.length + 1).replaceAll(sep, '/');
    const { size, mtimeNs, ctimeNs, ino, mtimeMs } = await lstat(absolute, { bigint: true });
    const sha256 = await hashes.of(absolute, `${ino} ${size} ${mtimeNs} ${ctimeNs}`);
    files.push({ path, size: Number(size), sha256, modifiedMs: Number(mtimeMs) });
  }
  return files.sort(byPath);
}

/** One hash, in hexadecimal digits, of the contents and names of all files. */
export function contentHash(files: readonly FileContent[]): string {
  const hash = createHash('sha256');
  for (const { path, size, sha256 } of files.toSorted(byPath)) hash.update(`${path}\0${size}\0${sha256}\n`);
  return hash.digest('hex');
}

/** The content of a file in chunks, each a buffer of its own. */
export async function* chunksOf(path: string): AsyncGenerator<Buffer, void, undefined> {
  const file = await open(path, 'r');
  try {
    for (;;) {
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
      const filled = await fill(chunk, (rest) => file.read(rest));
      if (filled > 0) yield chunk.subarray(0, filled);
      if (filled < CHUNK_BYTES) return;
    }
  } finally {
    await file.close();
  }
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of chunksOf(path)) hash.update(chunk);
  return hash.digest('hex');
}

/** A read may give less than was asked for. @returns the bytes that there were. */
async function fill(
  chunk: Buffer,
  read: (rest: Buffer) => Promise<{ readonly bytesRead: number }>,
): Promise<number> {
  for (let filled = 0; ; ) {
    const { bytesRead } = await read(chunk.subarray(filled));
    filled += bytesRead;
    if (bytesRead === 0 || filled === chunk.length) return filled;
  }
}

function byPath(a: FileContent, b: FileContent): number {
  return a.path < b.path ? -1 : a.path > b.path ? 1 : 0;
}
