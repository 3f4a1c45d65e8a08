import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The directories that are not removed yet; the process removes them when it exits. */
const existing = new Set<string>();
let removesAtExit = false;

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
  const path = await mkdtemp(join(tmpdir(), 'orchard-'));
  existing.add(path);
  if (!removesAtExit) {
    removesAtExit = true;
    process.once('exit', removeExisting);
  }
  return path;
}

function removeExisting(): void {
  for (const path of existing) rmSync(path, { recursive: true, force: true });
}
