import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  deleteUnseen,
  ensureDirectory,
  KnownHashes,
  moveIfPresent,
  namesIn,
  ownedName,
  ownerOf,
} from '../files/index.js';

/** A folder that is staged here. */
export interface LocalStage {
  /** Says who staged the folder last, when it is compared with the one in the database. */
  readonly token: string;
  readonly directory: string;
  /** Of its files, as they were when it was saved last. */
  readonly hashes: KnownHashes;
}

/**
 * The private directories in which this process prepares folders, as `<root>/staging/<token>~<owner>`. One that a
 * process of this machine left when it ended is taken over by whoever stages the same folder next: it may be further
 * than what was saved.
 */
export class LocalStages {
  readonly #staging: string;
  readonly #stages = new Map<string, LocalStage>();

  constructor(root: string) {
    this.#staging = join(root, 'staging');
  }

  get(key: string): LocalStage | undefined {
    return this.#stages.get(key);
  }

  /** The tokens of all that is staged here, by key. */
  tokens(): Map<string, string> {
    return new Map([...this.#stages].map(([key, { token }]) => [key, token]));
  }

  /**
   * A new stage.
   * @param earlier the token of whoever staged the folder before.
   * @param restore fills the directory with what was saved, where nothing else is left.
   */
  async begin(
    key: string,
    token: string,
    earlier: string | undefined,
    restore: (directory: string) => Promise<void>,
  ): Promise<LocalStage> {
    await this.drop(key);
    await ensureDirectory(this.#staging);
    const directory = join(this.#staging, `${token}~${ownedName()}`);
    const left = earlier === undefined ? undefined : await this.#leftOf(earlier);
    if (left === undefined || !(await moveIfPresent(join(this.#staging, left), directory))) {
      await mkdir(directory, { mode: 0o700 });
      await restore(directory);
    }
    const stage = { token, directory, hashes: new KnownHashes() };
    this.#stages.set(key, stage);
    return stage;
  }

  /** Forgets a stage, and deletes its files unless they have been moved elsewhere. */
  async drop(key: string): Promise<void> {
    const stage = this.#stages.get(key);
    this.#stages.delete(key);
    if (stage !== undefined) await deleteUnseen(stage.directory);
  }

  /** Deletes what is staged here. */
  async close(): Promise<void> {
    for (const key of [...this.#stages.keys()]) await this.drop(key);
  }

  /** Deletes what processes of this machine left that were killed. @param isCurrent whether a token is the newest one. */
  async sweep(isCurrent: (token: string) => Promise<boolean>): Promise<void> {
    for (const name of await namesIn(this.#staging)) {
      const [token = '', owner = ''] = name.split('~');
      if (ownerOf(owner) !== 'ended' || (await isCurrent(token))) continue;
      await deleteUnseen(join(this.#staging, name));
    }
  }

  async #leftOf(token: string): Promise<string | undefined> {
    const names = await namesIn(this.#staging);
    return names.find((name) => {
      const [its, owner = ''] = name.split('~');
      return its === token && ownerOf(owner) === 'ended';
    });
  }
}
