import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';

/** The checksum that a file must have, in lower-case hexadecimal. */
export interface Checksum {
  /** The SHA-256 of the file, by which Git LFS names it, or the id that git gives its content. */
  readonly algorithm: 'SHA-256' | 'git SHA-1';
  readonly value: string;
}

/** The checksum of a file of `bytes` bytes. */
export async function checksumOf(
  path: string,
  bytes: number,
  algorithm: Checksum['algorithm'],
  signal?: AbortSignal,
): Promise<string> {
  const hash = createHash(algorithm === 'SHA-256' ? 'sha256' : 'sha1');
  // A blob's id: https://git-scm.com/book/en/v2/Git-Internals-Git-Objects
  if (algorithm === 'git SHA-1') hash.update(`blob ${bytes}\0`);
  for await (const piece of createReadStream(path, { signal })) hash.update(piece);
  return hash.digest('hex');
}
