import { rmSync } from 'node:fs';
import { mkdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deleteUnseen, namesIn } from './durable-files.js';
import { ownedName, ownerOf } from './owned-name.js';

const PREFIX = 'orchard-';
/** No write takes this long, so a file this old was left by a crash. */
const MAX_AGE_MS = 60 * 60 * 1000;

/** The directories that are not removed yet; the process removes them when it exits. */
const existing = new Set<string>();
let removesAtExit = false;
let sweeping: Promise<void> | undefined;

/** A private directory in the system's temporary directory, created on first use. */
export class TemporaryDirectory {
  #path: Promise<string> | undefined;

  path(): Promise<string> {
    this.#path ??= make();
    return this.#path;
  }

  async remove(): Promise<void> {
    const path = await this.#path;
    if (path === undefined) return;
    this.#path = undefined;
    await rm(path, { recursive: true, force: true });
    existing.delete(path);
  }
}

async function make(): Promise<string> {
  const path = join(tmpdir(), PREFIX + ownedName());
  await mkdir(path, { mode: 0o700 });
  existing.add(path);
  sweeping ??= sweep();
  await sweeping;
  if (!removesAtExit) {
    removesAtExit = true;
    process.once('exit', removeExisting);
  }
  return path;
}

/** Removes the directories of killed processes. Runs once in a process; what it can't remove does no harm. */
async function sweep(): Promise<void> {
  const names = await namesIn(tmpdir()).catch(() => []);
  const left = names.filter(
    (name) => name.startsWith(PREFIX) && ownerOf(name.slice(PREFIX.length)) === 'ended',
  );
  await Promise.all(left.map((name) => deleteUnseen(join(tmpdir(), name))));
}

function removeExisting(): void {
  for (const path of existing) rmSync(path, { recursive: true, force: true });
}

/**
 * Deletes the temporary files of processes that have ended, and keeps those of living ones. Files of other machines,
 * whose processes can't be seen, go after an hour.
 */
export async function sweepTemporaryFiles(directory: string): Promise<void> {
  const names = await namesIn(directory);
  await Promise.allSettled(names.map((name) => deleteIfLeft(name, join(directory, name))));
}

async function deleteIfLeft(name: string, path: string): Promise<void> {
  const owner = ownerOf(name);
  if (owner === 'living') return;
  if (owner === 'ended' || Date.now() - (await stat(path)).mtimeMs > MAX_AGE_MS) await deleteUnseen(path);
}
