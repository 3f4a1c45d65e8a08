import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { FileLocks } from '../system/index.js';

export interface Checksum {
  /** SHA-256 of the file, as in Git LFS, or git's id of its content. */
  readonly algorithm: 'SHA-256' | 'git SHA-1';
  readonly value: string;
}

export async function checksumOf(
  path: string,
  bytes: number,
  algorithm: Checksum['algorithm'],
  signal?: AbortSignal,
): Promise<string> {
  const hash = createHash(algorithm === 'SHA-256' ? 'sha256' : 'sha1');
  // The id of a blob: https://git-scm.com/book/en/v2/Git-Internals-Git-Objects
  if (algorithm === 'git SHA-1') hash.update(`blob ${bytes}\0`);
  for await (const piece of createReadStream(path, { signal })) hash.update(piece);
  return hash.digest('hex');
}

/** One wrong checksum can be a broken transfer; two are the fault of the source. */
const MAX_ATTEMPTS = 2;

/** Deletes a wrong file. @param fetch may resume one. @returns the wrong checksum; undefined if it is right. */
export async function fetchChecked(
  file: { readonly path: string; readonly bytes: number; readonly checksum: Checksum },
  fetch: () => Promise<unknown>,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const { path, bytes, checksum } = file;
  for (let attempt = 1; ; attempt += 1) {
    await fetch();
    const found = await checksumOf(path, bytes, checksum.algorithm, signal);
    if (found === checksum.value) return undefined;
    await rm(path, { force: true });
    if (attempt === MAX_ATTEMPTS) return found;
  }
}

/** After this time without progress, another process takes over. */
const SILENT_DOWNLOAD_MS = 120_000;
const MAX_LOCK_PAUSE_MS = 100;

/** Of several processes, one downloads and the others wait. */
export function downloadLocks(directory: string): FileLocks {
  return new FileLocks(directory, directory, { silenceMs: SILENT_DOWNLOAD_MS, maxPauseMs: MAX_LOCK_PAUSE_MS });
}
