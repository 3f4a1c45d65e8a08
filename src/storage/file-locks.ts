import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { deleteUnseen, linkIfAbsent, readTextIfPresent, unlinkIfPresent } from './durable-files.js';
import { parseJson } from './parse-json.js';
import { hasEnded, thisProcess } from './process-identity.js';

/** How long one holder is waited for before its lock is broken although it may live, on a machine we can't see. */
const SILENT_HOLDER_MS = 30_000;
const MAX_PAUSE_MS = 8;

/** What the file of a lock says: its holder, and an id of this one holding. */
const holdingSchema = z.object({ pid: z.number(), host: z.string(), started: z.string(), id: z.string() });
type Holding = z.infer<typeof holdingSchema>;

/**
 * Locks between processes that share a directory. A lock is a file that names its holder. It comes into being
 * whole, by link(2), which fails where the name is taken; so at most one process makes it. It is unlinked by
 * its holder, or, after the holder died, by whoever holds the lock `<name>.break` and, holding it, still finds
 * the dead holder's name inside. As nobody else may unlink it then, no living holder's lock is ever broken.
 *
 * The one exception: a holder that can't be seen to have died (another machine's) loses a lock kept for
 * 30 seconds, which is thousands of times what is done under one here; {@link Lock.confirm} then stops it.
 */
export class FileLocks {
  readonly #directory: string;
  readonly #temporaryDirectory: string;

  /** Both directories exist and lie on one file system that has hard links (all but FAT do). */
  constructor(directory: string, temporaryDirectory: string) {
    this.#directory = directory;
    this.#temporaryDirectory = temporaryDirectory;
  }

  /** Runs `work` while no one else holds the lock of this name. Locks are not reentrant. */
  async hold<T>(name: string, work: (lock: Lock) => Promise<T>): Promise<T> {
    const path = join(this.#directory, name);
    const holding = JSON.stringify({ ...thisProcess, id: randomUUID() } satisfies Holding);
    await this.#acquire(name, path, holding);
    const lock = new Lock(path, holding);
    try {
      return await work(lock);
    } finally {
      if (await lock.isHeld()) await unlinkIfPresent(path);
    }
  }

  async #acquire(name: string, path: string, holding: string): Promise<void> {
    const draft = join(this.#temporaryDirectory, randomUUID());
    await writeFile(draft, holding, { flag: 'wx' });
    try {
      const patience = new Patience();
      while (!(await linkIfAbsent(draft, path))) {
        const found = await readTextIfPresent(path);
        if (found === undefined) continue;
        if (patience.endsWith(found)) await this.#break(name, path, found);
        else await delay(Math.random() * MAX_PAUSE_MS);
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

/** A lock while it is held. */
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

  /** To be called right before what the lock guards. @throws where the lock was broken, after 30 s of silence. */
  async confirm(): Promise<void> {
    if (!(await this.isHeld()))
      throw new Error(`${this.#path} was held too long and taken by another process`);
  }
}

/** Decides how long a contender waits for the holder that it finds. */
class Patience {
  #seen: string | undefined;
  #since = 0;

  endsWith(found: string): boolean {
    if (found !== this.#seen) {
      this.#seen = found;
      this.#since = performance.now();
    }
    return isOfEndedProcess(found) || performance.now() - this.#since > SILENT_HOLDER_MS;
  }
}

/** A lock that can't be read was cut short by a power cut, which no holder outlived. */
function isOfEndedProcess(text: string): boolean {
  const holding = parseJson(holdingSchema, text);
  return holding === undefined || hasEnded(holding);
}
