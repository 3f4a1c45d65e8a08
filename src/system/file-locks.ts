import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  deleteUnseen,
  linkIfAbsent,
  namesIn,
  ownedName,
  ownerOf,
  readTextIfPresent,
  unlinkIfPresent,
} from './files.js';

/** Default of {@link FileLockOptions.silenceMs}. */
const SILENCE_MS = 30_000;
/** Default of {@link FileLockOptions.maxPauseMs}. */
const MAX_PAUSE_MS = 8;

/** For locks that are held longer than for a write. */
interface FileLockOptions {
  /** How long a holder on another machine may be silent before its lock is broken, although it may still be alive. */
  readonly silenceMs?: number;
  readonly maxPauseMs?: number;
}

interface LockWaiting {
  readonly signal?: AbortSignal | undefined;
  /** Gives anything that changes while the holder is at work, such as the size of a file that it writes. */
  readonly signOfLife?: () => Promise<string>;
}

/**
 * Locks between processes that share a directory. A lock is a file with an {@link ownedName} of its holder. It is
 * created whole, by link(2), which fails if the name is taken, so only one process can create it. Its holder unlinks
 * it. If the holder has died, another process does so: one that holds the lock `<name>.break` and still finds the dead
 * holder's name in the file. As no other process may unlink it then, a living holder's lock is never broken.
 *
 * There is one exception: a holder on another machine, whose death can't be seen, loses its lock after 30 silent
 * seconds, which is thousands of times longer than a storage needs one. {@link Lock.confirm} then stops that holder.
 */
export class FileLocks {
  readonly #directory: string;
  readonly #temporaryDirectory: string;
  readonly #silenceMs: number;
  readonly #maxPauseMs: number;

  /** Both directories must exist, on the same file system, which must have hard links (all but FAT do). */
  constructor(directory: string, temporaryDirectory: string, options: FileLockOptions = {}) {
    this.#directory = directory;
    this.#temporaryDirectory = temporaryDirectory;
    this.#silenceMs = options.silenceMs ?? SILENCE_MS;
    this.#maxPauseMs = options.maxPauseMs ?? MAX_PAUSE_MS;
  }

  /** Runs `work` while no one else holds the lock of this name. Locks are not reentrant. */
  async hold<T>(name: string, work: (lock: Lock) => Promise<T>, waiting: LockWaiting = {}): Promise<T> {
    const path = join(this.#directory, name);
    const holding = ownedName();
    await this.#acquire(name, path, holding, waiting);
    const lock = new Lock(path, holding);
    try {
      return await work(lock);
    } finally {
      if (await lock.isHeld()) await unlinkIfPresent(path);
    }
  }

  /** Removes the locks of holders that have died; they might never be asked for again. */
  async sweep(): Promise<void> {
    const names = await namesIn(this.#directory);
    await Promise.allSettled(names.map((name) => this.#breakIfLeft(name)));
  }

  async #breakIfLeft(name: string): Promise<void> {
    const path = join(this.#directory, name);
    const found = await readTextIfPresent(path);
    if (found !== undefined && isLeft(found)) await this.#break(name, path, found);
  }

  async #acquire(name: string, path: string, holding: string, { signal, signOfLife }: LockWaiting): Promise<void> {
    const draft = join(this.#temporaryDirectory, ownedName());
    try {
      await writeFile(draft, holding, { flag: 'wx' }); // on a full disk, it fails and leaves a part of it
      let seen: string | undefined;
      let since = 0;
      while (!(await linkIfAbsent(draft, path))) {
        signal?.throwIfAborted();
        const found = await readTextIfPresent(path);
        if (found === undefined) continue;
        const sign = `${found} ${await signOfLife?.()}`;
        if (sign !== seen) [seen, since] = [sign, performance.now()];
        const isSilent = performance.now() - since > this.#silenceMs;
        if (isSilent || isLeft(found)) await this.#break(name, path, found);
        else await delay(Math.random() * this.#maxPauseMs, undefined, { signal });
      }
    } finally {
      await deleteUnseen(draft);
    }
  }

  async #break(name: string, path: string, dead: string): Promise<void> {
    await this.hold(`${name}.break`, async () => {
      if ((await readTextIfPresent(path)) === dead) await unlinkIfPresent(path);
    });
  }
}

export class Lock {
  readonly #path: string;
  readonly #holding: string;

  constructor(path: string, holding: string) {
    this.#path = path;
    this.#holding = holding;
  }

  async isHeld(): Promise<boolean> {
    return (await readTextIfPresent(this.#path)) === this.#holding;
  }

  /** To be called right before what the lock guards. @throws if the lock was broken, after a long silence. */
  async confirm(): Promise<void> {
    if (!(await this.isHeld())) throw new Error(`${this.#path} was held too long and taken by another process`);
  }
}

/** A lock that can't be read was cut short by a power cut, which no holder survived. */
function isLeft(holding: string): boolean {
  const owner = ownerOf(holding);
  return owner === undefined || owner === 'ended';
}
