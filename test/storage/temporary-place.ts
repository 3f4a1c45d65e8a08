import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { fileStorage, type Storage } from '../../src/storage/index.js';

/** A new directory that is removed when the running test has finished. */
export async function aDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'orchard-test-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

export async function temporaryFileStorage(): Promise<Storage> {
  return fileStorage(await aDirectory());
}
