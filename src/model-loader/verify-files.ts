import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { checksumOf } from './checksum.js';
import type { PublishedFile, PublishedModel } from './published-models.js';

/** A file that isn't as it was published. */
export interface FileProblem {
  /** Below the model's folder, with '/'. */
  readonly file: string;
  /** What is wrong with it, in words. */
  readonly problem: string;
}

/** The files of a published model that a folder lacks, or has with other bytes. Further files don't matter. */
export async function problemsOf(
  model: PublishedModel,
  directory: string,
  signal?: AbortSignal,
): Promise<readonly FileProblem[]> {
  const problems: FileProblem[] = [];
  for (const file of model.files) {
    const problem = await problemOf(file, join(directory, ...file.path.split('/')), signal);
    if (problem !== undefined) problems.push({ file: file.path, problem });
  }
  return problems;
}

/** @returns undefined if the file at this path has the published bytes. */
export async function problemOf(
  { bytes, sha256 }: PublishedFile,
  path: string,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined || !found.isFile()) return 'is missing';
  if (found.size !== bytes) return `has ${found.size} bytes, not ${bytes}`;
  const hash = await checksumOf(path, bytes, 'SHA-256', signal);
  return hash === sha256 ? undefined : `has the SHA-256 ${hash}, not ${sha256}`;
}
