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

/** A folder that this process has staged. */
export interface LocalStage {
  /** Another process has staged the folder since if the database has another token. */
  readonly token: string;
  readonly directory: string;
  /** Of its files, when they were read last. */
  readonly hashes: KnownHashes;
}

/**
 * The private directories in which this process prepares folders, as `<root>/staging/<token>~<owner>`. One that another
 * process of this machine left when it ended is taken over when the same folder is staged: it may be further than what
 * was saved.
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

  /** The tokens of all stages of this process, by key. */
  tokens(): Map<string, string> {
    return new Map([...this.#stages].map(([key, { token }]) => [key, token]));
  }

  /**
   * Begins a stage.
   * @param earlier the token of the stage before, of any process.
   * @param restore fills the directory with what was saved, unless one was left here.
   * @returns its directory.
   */
  async begin(
    key: string,
    token: string,
    earlier: string | null,
    restore: (directory: string) => Promise<void>,
  ): Promise<string> {
    await this.drop(key);
    await ensureDirectory(this.#staging);
    const directory = join(this.#staging, `${token}~${ownedName()}`);
    const left = (await this.#abandoned()).find((stage) => stage.token === earlier);
    if (left === undefined || !(await moveIfPresent(left.directory, directory))) {
      await mkdir(directory, { mode: 0o700 });
      await restore(directory);
    }
    this.#stages.set(key, { token, directory, hashes: new KnownHashes() });
    return directory;
  }

  /** Forgets a stage, and deletes its files unless they were moved. */
  async drop(key: string): Promise<void> {
    const stage = this.#stages.get(key);
    this.#stages.delete(key);
    if (stage !== undefined) await deleteUnseen(stage.directory);
  }

  async close(): Promise<void> {
    for (const key of [...this.#stages.keys()]) await this.drop(key);
  }

  /** Deletes what killed processes of this machine left. @param isCurrent whether a token is the newest of its folder. */
  async sweep(isCurrent: (token: string) => Promise<boolean>): Promise<void> {
    for (const { token, directory } of await this.#abandoned()) {
      if (!(await isCurrent(token))) await deleteUnseen(directory);
    }
  }

  /** Stages of processes of this machine that have ended. */
  async #abandoned(): Promise<{ token: string; directory: string }[]> {
    return (await namesIn(this.#staging)).flatMap((name) => {
      const [token = '', owner = ''] = name.split('~');
      return ownerOf(owner) === 'ended' ? [{ token, directory: join(this.#staging, name) }] : [];
    });
  }
}
