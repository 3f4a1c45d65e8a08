import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  deleteUnseen,
  ensureDirectory,
  flushDirectory,
  flushTree,
  move,
  moveIfPresent,
  namesIn,
} from '../system/index.js';
import { encodeFileName } from './file-name.js';
import { isDiskFull } from './reserve.js';

const STAGED = 'staged';
const PUBLISHED = /^published-(\d+)$/;

/**
 * Folders as `folders/<key>/published-<n>`, of which the highest n counts, and `folders/<key>/staged`. Every visible
 * change is one rename: publishing renames `staged` to the next n, and deletes earlier ones only then; removing moves
 * the whole folder to `trash/`, and deletes it there. So a crash at any point leaves the old or the new state,
 * processes need no lock, and a folder in use can be replaced on Windows too.
 */
export class FolderStore {
  readonly #folders: string;
  readonly #trash: string;

  constructor(root: string) {
    this.#folders = join(root, 'folders');
    this.#trash = join(root, 'trash');
  }

  async stage(key: string): Promise<string> {
    const staged = join(this.#home(key), STAGED);
    await ensureDirectory(staged);
    return staged;
  }

  async publish(key: string): Promise<void> {
    const home = this.#home(key);
    const staged = join(home, STAGED);
    if (!(await namesIn(home)).includes(STAGED)) throw new Error('nothing is staged; call stageFolder first');
    await flushTree(staged);
    const next = ((await latestPublished(home)) ?? 0) + 1;
    await move(staged, join(home, `published-${next}`));
    await flushDirectory(home);
    await deleteSuperseded(home);
  }

  async open(key: string): Promise<string | undefined> {
    const home = this.#home(key);
    const latest = await latestPublished(home);
    return latest === undefined ? undefined : join(home, `published-${latest}`);
  }

  discard(key: string): Promise<void> {
    return this.#moveToTrash(join(this.#home(key), STAGED), this.#home(key));
  }

  remove(key: string): Promise<void> {
    return this.#moveToTrash(this.#home(key), this.#folders);
  }

  async sweep(): Promise<void> {
    await this.emptyTrash();
    for (const name of await namesIn(this.#folders)) await deleteSuperseded(join(this.#folders, name));
  }

  /** Deletes what was removed by a process that died before it had deleted it. */
  async emptyTrash(): Promise<void> {
    for (const name of await namesIn(this.#trash)) await deleteUnseen(join(this.#trash, name));
  }

  async #moveToTrash(path: string, parent: string): Promise<void> {
    const grave = join(this.#trash, randomUUID());
    try {
      await ensureDirectory(this.#trash);
      if (!(await moveIfPresent(path, grave))) return;
    } catch (thrown) {
      if (!isDiskFull(thrown)) throw thrown;
      await rm(path, { recursive: true, force: true }); // there is no room for another name
    }
    await flushDirectory(parent);
    await deleteUnseen(grave);
  }

  #home(key: string): string {
    return join(this.#folders, encodeFileName(key));
  }
}

async function latestPublished(home: string): Promise<number | undefined> {
  const numbers = await publishedNumbers(home);
  return numbers.length === 0 ? undefined : Math.max(...numbers);
}

async function deleteSuperseded(home: string): Promise<void> {
  const numbers = await publishedNumbers(home);
  const latest = Math.max(...numbers);
  for (const number of numbers.filter((number) => number < latest)) {
    await deleteUnseen(join(home, `published-${number}`));
  }
}

async function publishedNumbers(home: string): Promise<number[]> {
  const names = await namesIn(home);
  return names.flatMap((name) => {
    const digits = PUBLISHED.exec(name)?.[1];
    return digits === undefined ? [] : Number(digits);
  });
}
