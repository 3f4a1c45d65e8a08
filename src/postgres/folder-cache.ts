import { stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import {
  bytesIn,
  contentHash,
  deleteUnseen,
  ensureDirectory,
  filesIn,
  isPresent,
  move,
  moveIfPresent,
  namesIn,
  ownedName,
  sweepTemporaryFiles,
} from '../system/index.js';

/** A folder that was opened this recently is never evicted: a process may be reading it. */
const IN_USE_MS = 10 * 60_000;

/**
 * Folders on the local disk by the hash of their content, as `<root>/folders/<hash>`; several processes may share one
 * cache. A folder is filled under another name and then renamed, and its files are checked when a process first opens
 * it. The modification time of its directory is when it was last opened.
 */
export class FolderCache {
  readonly #folders: string;
  readonly #temporary: string;
  readonly #maxBytes: number;
  readonly #now: () => number;
  /** Hashes of the folders whose files this process has checked or written. */
  readonly #checked = new Set<string>();
  readonly #filling = new Map<string, Promise<string>>();

  constructor(root: string, maxBytes: number, now: () => number = Date.now) {
    this.#folders = join(root, 'folders');
    this.#temporary = join(root, 'temporary');
    this.#maxBytes = maxBytes;
    this.#now = now;
  }

  /**
   * The directory of a folder, which is filled if it is missing or damaged.
   * @param fill writes the files, whose content must have this hash.
   */
  async open(hash: string, fill: (directory: string) => Promise<void>): Promise<string> {
    if (this.#checked.has(hash) && (await this.#touch(hash))) return this.#directory(hash);
    const filling = this.#filling.get(hash) ?? this.#checkOrFill(hash, fill).finally(() => this.#filling.delete(hash));
    this.#filling.set(hash, filling);
    return filling;
  }

  async adopt(hash: string, directory: string): Promise<void> {
    if (!(await this.#enter(hash, directory))) return;
    await utimes(this.#directory(hash), 0, 0); // it was never opened
    await this.#evictOldest();
  }

  hashes(): Promise<string[]> {
    return namesIn(this.#folders);
  }

  async remove(hash: string): Promise<void> {
    this.#checked.delete(hash);
    const removed = await this.#temporaryPath();
    if (await moveIfPresent(this.#directory(hash), removed)) await deleteUnseen(removed);
  }

  sweep(): Promise<void> {
    return sweepTemporaryFiles(this.#temporary);
  }

  async #checkOrFill(hash: string, fill: (directory: string) => Promise<void>): Promise<string> {
    const directory = this.#directory(hash);
    // Touched before it is checked, so that no process evicts it meanwhile.
    if ((await this.#touch(hash)) && (await isWhole(directory, hash))) {
      this.#checked.add(hash);
      return directory;
    }
    await this.remove(hash);
    const draft = await this.#temporaryPath();
    try {
      await ensureDirectory(draft);
      await fill(draft);
      await this.#enter(hash, draft);
      await this.#touch(hash);
    } finally {
      await deleteUnseen(draft);
    }
    await this.#evictOldest();
    return directory;
  }

  async #enter(hash: string, draft: string): Promise<boolean> {
    await ensureDirectory(this.#folders);
    const directory = this.#directory(hash);
    const isFirst = await move(draft, directory).then(
      () => true,
      async (thrown: unknown) => {
        if (await isPresent(directory)) return false;
        throw thrown;
      },
    );
    this.#checked.add(hash);
    return isFirst;
  }

  /** Records that the folder is opened now. @returns false if it is missing. */
  async #touch(hash: string): Promise<boolean> {
    const seconds = this.#now() / 1000;
    try {
      await utimes(this.#directory(hash), seconds, seconds);
      return true;
    } catch {
      this.#checked.delete(hash);
      return false;
    }
  }

  async #evictOldest(): Promise<void> {
    const measured = await Promise.all((await this.hashes()).map((hash) => this.#measure(hash)));
    const folders = measured.filter((each) => each !== undefined).sort((a, b) => a.openedAt - b.openedAt);
    let bytes = folders.reduce((sum, each) => sum + each.bytes, 0);
    for (const { hash, bytes: freed, openedAt } of folders) {
      if (bytes <= this.#maxBytes || this.#now() - openedAt < IN_USE_MS) return;
      await this.#evict(hash);
      bytes -= freed;
    }
  }

  /** Puts the folder back if another process has opened it since it was measured. */
  async #evict(hash: string): Promise<void> {
    const evicted = await this.#temporaryPath();
    if (!(await moveIfPresent(this.#directory(hash), evicted))) return;
    const { mtimeMs } = await stat(evicted);
    if (this.#now() - mtimeMs < IN_USE_MS) await move(evicted, this.#directory(hash)).catch(() => undefined);
    else this.#checked.delete(hash);
    await deleteUnseen(evicted);
  }

  async #measure(hash: string) {
    const directory = this.#directory(hash);
    try {
      const { mtimeMs: openedAt } = await stat(directory);
      return { hash, openedAt, bytes: await bytesIn(directory) };
    } catch {
      return undefined; // it is being removed
    }
  }

  async #temporaryPath(): Promise<string> {
    await ensureDirectory(this.#temporary);
    return join(this.#temporary, ownedName());
  }

  #directory(hash: string): string {
    return join(this.#folders, hash);
  }
}

async function isWhole(directory: string, hash: string): Promise<boolean> {
  try {
    return contentHash(await filesIn(directory)) === hash;
  } catch {
    return false;
  }
}
