import { readdir, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import {
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
} from '../files/index.js';

/** A folder that was opened so recently stays, whatever else must go: somebody may be reading it. */
const IN_USE_MS = 10 * 60_000;
/** How exactly a folder says when it was opened last. */
const TOUCH_MS = 60_000;

/**
 * Folders on the local disk by the hash of their content, as `<root>/folders/<hash>`; several processes may share one.
 * A folder is there whole, as it is filled under another name; its files are checked when a process opens it first. The
 * time of its directory says when it was opened last.
 */
export class FolderCache {
  readonly #folders: string;
  readonly #temporary: string;
  readonly #maxBytes: number;
  readonly #now: () => number;
  /** Those whose files were checked here, with when they were touched last. */
  readonly #checked = new Map<string, number>();
  /** Fillings under way. */
  readonly #filling = new Map<string, Promise<string>>();

  /** @param now tells the time in milliseconds since 1970. */
  constructor(root: string, maxBytes: number, now: () => number = Date.now) {
    this.#folders = join(root, 'folders');
    this.#temporary = join(root, 'temporary');
    this.#maxBytes = maxBytes;
    this.#now = now;
  }

  /**
   * The directory of a folder, which is filled where it isn't there yet, or isn't what its hash says.
   * @param fill writes the files, which must have this hash.
   */
  async open(hash: string, fill: (directory: string) => Promise<void>): Promise<string> {
    const directory = this.#directory(hash);
    if (this.#checked.has(hash) && (await this.#touch(hash))) return directory;
    const filling = this.#filling.get(hash) ?? this.#checkOrFill(hash, fill);
    this.#filling.set(hash, filling);
    try {
      return await filling;
    } finally {
      if (this.#filling.get(hash) === filling) this.#filling.delete(hash);
    }
  }

  /** Takes over a directory that has just been found to have this content, and that nobody has opened yet. */
  async adopt(hash: string, directory: string): Promise<void> {
    if (!(await this.#enter(hash, directory))) return;
    await utimes(this.#directory(hash), 0, 0);
    await this.#makeRoom();
  }

  /** The hashes of all folders that are there. */
  hashes(): Promise<string[]> {
    return namesIn(this.#folders);
  }

  async remove(hash: string): Promise<void> {
    this.#checked.delete(hash);
    await this.#discard(hash);
  }

  /** Deletes what processes left that were killed. */
  sweep(): Promise<void> {
    return sweepTemporaryFiles(this.#temporary);
  }

  async #checkOrFill(hash: string, fill: (directory: string) => Promise<void>): Promise<string> {
    const directory = this.#directory(hash);
    // Touched first: who makes room leaves it then.
    if ((await this.#touch(hash)) && (await isWhole(directory, hash))) {
      this.#checked.set(hash, this.#now());
      return directory;
    }
    await this.#discard(hash);
    const draft = await this.#draft();
    try {
      await ensureDirectory(draft);
      await fill(draft);
      await this.#enter(hash, draft);
      await this.#touch(hash);
    } finally {
      await deleteUnseen(draft);
    }
    await this.#makeRoom();
    return directory;
  }

  /** @returns false if another process was faster. */
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
    this.#checked.set(hash, Number.NEGATIVE_INFINITY);
    return isFirst;
  }

  /** Says that the folder is opened now. @returns false if it is not there. */
  async #touch(hash: string): Promise<boolean> {
    const now = this.#now();
    const directory = this.#directory(hash);
    const touched = this.#checked.get(hash) ?? Number.NEGATIVE_INFINITY;
    if (now - touched < TOUCH_MS && (await isPresent(directory))) return true;
    try {
      await utimes(directory, now / 1000, now / 1000);
    } catch {
      this.#checked.delete(hash);
      return false;
    }
    if (this.#checked.has(hash)) this.#checked.set(hash, now);
    return true;
  }

  /** Deletes those that were opened least recently, until the others have room. */
  async #makeRoom(): Promise<void> {
    const there = await Promise.all((await this.hashes()).map((hash) => this.#measured(hash)));
    const known = there.filter((each) => each !== undefined).sort((a, b) => a.openedAt - b.openedAt);
    let bytes = known.reduce((sum, each) => sum + each.bytes, 0);
    for (const { hash, bytes: freed, openedAt } of known) {
      if (bytes <= this.#maxBytes || this.#now() - openedAt < IN_USE_MS) return;
      await this.#evict(hash);
      bytes -= freed;
    }
  }

  /** Puts the folder back if another process has opened it in this moment. */
  async #evict(hash: string): Promise<void> {
    const grave = await this.#draft();
    if (!(await moveIfPresent(this.#directory(hash), grave))) return;
    const { mtimeMs } = await stat(grave);
    if (this.#now() - mtimeMs < IN_USE_MS) await move(grave, this.#directory(hash)).catch(() => undefined);
    else this.#checked.delete(hash);
    await deleteUnseen(grave);
  }

  async #measured(hash: string) {
    const directory = this.#directory(hash);
    try {
      const { mtimeMs: openedAt } = await stat(directory);
      const entries = await readdir(directory, { recursive: true, withFileTypes: true });
      const files = entries.filter((entry) => entry.isFile());
      const sizes = await Promise.all(
        files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size),
      );
      return { hash, openedAt, bytes: sizes.reduce((sum, size) => sum + size, 0) };
    } catch {
      return undefined; // it is being removed
    }
  }

  async #discard(hash: string): Promise<void> {
    const grave = await this.#draft();
    if (await moveIfPresent(this.#directory(hash), grave)) await deleteUnseen(grave);
  }

  async #draft(): Promise<string> {
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
