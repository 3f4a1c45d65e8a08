import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { StorageError } from '../errors.js';
import {
  ensureDirectory,
  FileLocks,
  isPresent,
  ownedName,
  parseJson,
  readTextIfPresent,
  replaceFile,
} from '../files/index.js';
import { collectionsIn, nestRecords } from './nest-records.js';

/**
 * 1, which has no `layout` file: all records of a collection in one directory. 2: in nested directories by
 * their keys.
 */
const VERSION = 2;
/** A holder on another machine that has moved no record for this long counts as dead. */
const SILENCE_MS = 600_000;
const MAX_LOCK_PAUSE_MS = 100;

const layoutSchema = z.object({ version: z.int().positive() });

/**
 * The layout of a storage's directory, whose number is in the file `layout`. An earlier layout is converted
 * to this one on first use. If a process is killed meanwhile, the next one resumes the conversion, as the
 * number only changes once all is done.
 */
export class StorageLayout {
  readonly #root: string;
  readonly #file: string;
  #ready: Promise<void> | undefined;
  #isMarked = false;

  constructor(root: string) {
    this.#root = root;
    this.#file = join(root, 'layout');
  }

  /** Converts what has an earlier layout. @throws StorageError if the directory has a later one. */
  ready(): Promise<void> {
    this.#ready ??= this.#upgrade().catch((thrown: unknown) => {
      this.#ready = undefined; // the next call tries again
      throw thrown;
    });
    return this.#ready;
  }

  /** To be called before records are written: a directory without records has no number yet. */
  async mark(): Promise<void> {
    if (this.#isMarked) return;
    await this.ready();
    if ((await this.#version()) === undefined) await this.#write();
    this.#isMarked = true;
  }

  async #upgrade(): Promise<void> {
    if (!(await this.#isEarlier())) return;
    const locks = join(this.#root, 'locks');
    const temporary = join(this.#root, 'temporary');
    await ensureDirectory(locks);
    await ensureDirectory(temporary);
    const fileLocks = new FileLocks(locks, temporary, {
      silenceMs: SILENCE_MS,
      maxPauseMs: MAX_LOCK_PAUSE_MS,
    });
    const upgrade = async () => {
      if (!(await this.#isEarlier())) return; // another process was faster
      await nestRecords(this.#records);
      await this.#write();
    };
    await fileLocks.hold('layout', upgrade, { signOfLife: () => lastMove(this.#records) });
  }

  async #isEarlier(): Promise<boolean> {
    const version = await this.#version();
    if (version === undefined) return isPresent(this.#records);
    if (version <= VERSION) return version < VERSION;
    throw new StorageError(
      `${this.#root} is of layout ${version}, but this release of orchard-nlp only knows layouts up to ${VERSION}; open it with the release that wrote it or a later one`,
    );
  }

  async #version(): Promise<number | undefined> {
    const text = await readTextIfPresent(this.#file);
    if (text === undefined) return undefined;
    const layout = parseJson(layoutSchema, text);
    if (layout !== undefined) return layout.version;
    throw new StorageError(
      `${this.#file} does not say which layout the storage has; it should be {"version":${VERSION}}: restore it`,
    );
  }

  async #write(): Promise<void> {
    const temporary = join(this.#root, 'temporary');
    await ensureDirectory(temporary);
    const draft = join(temporary, ownedName());
    await replaceFile(this.#file, `${JSON.stringify({ version: VERSION })}\n`, { draft });
  }

  get #records(): string {
    return join(this.#root, 'records');
  }
}

/** A text that changes whenever a record leaves the directory that it had in layout 1. */
async function lastMove(records: string): Promise<string> {
  const directories = await collectionsIn(records);
  const times = await Promise.all(directories.map(async (directory) => (await stat(directory)).mtimeMs));
  return times.join(' ');
}
