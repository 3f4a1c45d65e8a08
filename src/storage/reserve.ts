import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import {
  deleteUnseen,
  failedWith,
  isPresent,
  move,
  ownedName,
  unlinkIfPresent,
  writeFlushed,
} from '../system/index.js';

/** Room for about a hundred records, each with its lock, its draft and its directories, in blocks of 4 kB. */
const RESERVE_BYTES = 1024 * 1024;

/**
 * A file that reserves some of the disk for writes that record how a job ended, and for deletions: on a full disk, they
 * first delete this file. It is made again once there is room.
 */
export class Reserve {
  readonly #file: string;
  readonly #records: string;
  readonly #temporary: string;

  constructor(root: string) {
    this.#file = join(root, 'reserve');
    this.#records = join(root, 'records');
    this.#temporary = join(root, 'temporary');
  }

  /** Does work that needs little room; if the disk is full, frees the reserve and repeats it. */
  async using<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      if (!isDiskFull(thrown) || !(await unlinkIfPresent(this.#file))) throw thrown;
      return work();
    }
  }

  /** Makes the file if it is missing and there is room for twice as much. After a failure, the next call tries again. */
  async keep(): Promise<void> {
    const draft = join(this.#temporary, ownedName());
    try {
      if (!(await isPresent(this.#records)) || (await this.#isWhole()) || !(await this.#hasRoom())) return;
      await writeFlushed(draft, new Uint8Array(RESERVE_BYTES).fill(1));
      await move(draft, this.#file);
    } catch {
      await deleteUnseen(draft);
    }
  }

  async #isWhole(): Promise<boolean> {
    const found = await stat(this.#file).catch(() => undefined);
    return found?.size === RESERVE_BYTES;
  }

  async #hasRoom(): Promise<boolean> {
    const { bavail, bsize } = await statfs(this.#records);
    return bavail * bsize >= 2 * RESERVE_BYTES;
  }
}

/** True for the error of a system call that found no room on the disk, or none in the user's quota. */
export function isDiskFull(thrown: unknown): boolean {
  return failedWith(thrown, 'ENOSPC', 'EDQUOT');
}
