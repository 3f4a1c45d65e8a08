import { contentHash, type FileContent, type FolderFile, filesIn } from '../files/index.js';
import { type FolderDescription, KeyedQueue, StagingLost } from '../storage/index.js';
import type { Database, Query } from './database.js';
import type { FolderCache } from './folder-cache.js';
import { type FolderRow, FolderRows } from './folder-rows.js';
import type { LocalStage, LocalStages } from './local-stages.js';
import { patiently } from './patiently.js';
import { fetchFiles, GoneMeanwhile, storedFiles, storedHash } from './transfers.js';

/** So often a folder is fetched again that others replace meanwhile. */
const MAX_FETCHES = 20;

/** Where folders lie on this machine. */
export interface LocalPlace {
  readonly cache: FolderCache;
  readonly stages: LocalStages;
}

/** The folders of a storage: prepared here, kept in the database, opened from the cache. */
export class Folders {
  readonly #database: Database;
  readonly #place: LocalPlace;
  readonly #rows: FolderRows;
  readonly #channel: string;
  readonly #oneByOne = new KeyedQueue();

  constructor(database: Database, place: LocalPlace) {
    this.#database = database;
    this.#place = place;
    this.#rows = new FolderRows(database);
    this.#channel = database.channel('folders');
  }

  stage(key: string): Promise<string> {
    return this.#oneByOne.run(key, async () => {
      const here = this.#place.stages.get(key);
      if (here !== undefined && (await this.#rows.token(key)) === here.token) return here.directory;
      await this.#dropLost();
      const { token, earlier } = await this.#rows.takeStage(key);
      const restore = (directory: string) => this.#restore(key, directory);
      const { directory } = await this.#place.stages.begin(key, token, earlier, restore);
      return directory;
    });
  }

  save(key: string): Promise<void> {
    return this.#oneByOne.run(key, async () => {
      const { stage, files } = await patiently(() => this.#staged(key));
      await this.#store(key, 'staged', stage, files);
    });
  }

  publish(key: string): Promise<void> {
    return this.#oneByOne.run(key, async () => {
      const { stage, files } = await patiently(() => this.#staged(key));
      const replaced = await this.#store(key, 'published', stage, files);
      const hash = contentHash(files);
      // Whoever opens it fetches it where this fails.
      await this.#place.cache.adopt(hash, stage.directory).catch(() => undefined);
      await this.#place.stages.drop(key);
      if (replaced !== undefined) await this.forget([replaced]);
    });
  }

  /** What a successor has staged stays, if it was staged here before. */
  discard(key: string): Promise<void> {
    return this.#oneByOne.run(key, async () => {
      const here = this.#place.stages.get(key);
      const current = here === undefined ? undefined : await this.#rows.token(key);
      if (current === here?.token) await this.#rows.remove(key, ['staged'], async () => undefined);
      await this.#place.stages.drop(key);
    });
  }

  async open(key: string): Promise<string | undefined> {
    for (let attempt = 1; ; attempt += 1) {
      const row = await this.#rows.find(key, 'published');
      if (row === undefined) return undefined;
      try {
        return await this.#place.cache.open(row.hash, (directory) => this.#fetch(row, directory));
      } catch (thrown) {
        if (!(thrown instanceof GoneMeanwhile) || attempt === MAX_FETCHES) throw thrown;
      }
    }
  }

  /** The files of a folder as they are in the database now. @param which published, or saved of what is staged */
  async content(key: string, which: 'published' | 'staged'): Promise<FileContent[] | undefined> {
    const row = await this.#rows.find(key, which);
    if (row === undefined) return undefined;
    const found: FileContent[] = [];
    for (const file of await storedFiles(this.#database, row.id)) {
      const { path, size } = file;
      found.push({ path, size, sha256: await storedHash(this.#database, file) });
    }
    return found;
  }

  describe(key: string): Promise<FolderDescription | undefined> {
    return this.#rows.describe(key);
  }

  remove(key: string): Promise<void> {
    return this.#oneByOne.run(key, async () => {
      const removed = await this.#rows.remove(key, ['staged', 'published'], this.#tell);
      await this.#place.stages.drop(key);
      if (removed !== undefined) await this.forget([removed]);
    });
  }

  /** Deletes contents from the cache that no published folder has. */
  async forget(hashes: readonly string[]): Promise<void> {
    if (hashes.length === 0) return;
    for (const hash of await this.#rows.withoutFolder(hashes)) await this.#place.cache.remove(hash);
  }

  /** Hears of folders that are removed or replaced anywhere, and sees what was missed whenever it connects. */
  listen(): () => void {
    const forget = (hashes: readonly string[]) => {
      this.forget(hashes).catch(() => undefined); // with the next connection
    };
    return this.#database.listen(this.#channel, {
      heard: (hash) => forget([hash]),
      connected: () => {
        this.#place.cache.hashes().then(forget, () => undefined);
      },
    });
  }

  /** Deletes what killed processes left, here and in the database. */
  async sweep(): Promise<void> {
    await this.#rows.sweep();
    await this.#place.cache.sweep();
    await this.#place.stages.sweep((token) => this.#rows.isCurrent(token));
  }

  readonly #tell = async (query: Query, replaced: string | undefined): Promise<void> => {
    if (replaced !== undefined) await query('SELECT pg_notify($1, $2)', [this.#channel, replaced]);
  };

  async #staged(key: string): Promise<{ stage: LocalStage; files: FolderFile[] }> {
    const stage = this.#place.stages.get(key);
    if (stage === undefined) throw new Error('nothing is staged; call stageFolder first');
    const token = await this.#rows.token(key);
    if (token !== stage.token) throw await this.#lost(key, token);
    return { stage, files: await filesIn(stage.directory, stage.hashes) };
  }

  /** @returns the content that was published before. */
  async #store(
    key: string,
    kind: 'staged' | 'published',
    { token, directory }: LocalStage,
    files: readonly FolderFile[],
  ): Promise<string | undefined> {
    const pathOf = ({ path }: FolderFile) => `${directory}/${path}`;
    const shown = await this.#rows.store(key, kind, token, files, pathOf, this.#tell);
    if (shown === undefined) throw await this.#lost(key, await this.#rows.token(key));
    return shown.replaced;
  }

  /** @param token the newest one; undefined where what was staged has been discarded. */
  async #lost(key: string, token: string | undefined): Promise<Error> {
    return token === undefined
      ? new Error('nothing is staged any more: it was discarded or published elsewhere')
      : new StagingLost(key);
  }

  /** Deletes what is staged here of folders that others have staged since. */
  async #dropLost(): Promise<void> {
    for (const [key, token] of this.#place.stages.tokens()) {
      if (!(await this.#rows.isCurrent(token))) await this.#place.stages.drop(key);
    }
  }

  async #restore(key: string, directory: string): Promise<void> {
    const saved = await this.#rows.find(key, 'staged');
    if (saved !== undefined) await this.#fetch(saved, directory);
  }

  async #fetch({ id }: FolderRow, directory: string): Promise<void> {
    await fetchFiles(this.#database, await storedFiles(this.#database, id), directory);
  }
}
