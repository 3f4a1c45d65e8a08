import { createHash } from 'node:crypto';
import { mkdir, open, utimes } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { clearInterval, setInterval } from 'node:timers';
import { type FolderDescription, KeyedQueue, StagingLost } from '../storage/index.js';
import {
  CHUNK_BYTES,
  chunksOf,
  contentHash,
  deleteUnseen,
  ensureDirectory,
  type FileContent,
  type FolderFile,
  filesIn,
  KnownHashes,
  moveIfPresent,
  namesIn,
  ownedName,
  ownerOf,
  TemporaryDirectory,
} from '../system/index.js';
import { codeOf, withRetry } from './connection-errors.js';
import type { Database, Query } from './database.js';
import { FolderCache } from './folder-cache.js';
import { keyBytes } from './key-bytes.js';

interface LocalStage {
  /** Another process has staged the folder since if the database has another token. */
  readonly token: string;
  readonly directory: string;
  readonly hashes: KnownHashes;
}

/**
 * The private directories in which this process prepares folders, as `<root>/staging/<token>~<owner>`. One that another
 * process of this machine left when it ended is taken over when the same folder is staged: it may be further than what
 * was saved.
 */
class LocalStages {
  readonly #staging: string;
  readonly #stages = new Map<string, LocalStage>();

  constructor(root: string) {
    this.#staging = join(root, 'staging');
  }

  get(key: string): LocalStage | undefined {
    return this.#stages.get(key);
  }

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
      await restore(directory).catch(async (thrown: unknown) => {
        await deleteUnseen(directory);
        throw thrown;
      });
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

  async #abandoned(): Promise<{ token: string; directory: string }[]> {
    return (await namesIn(this.#staging)).flatMap((name) => {
      const [token = '', owner = ''] = name.split('~');
      return ownerOf(owner) === 'ended' ? [{ token, directory: join(this.#staging, name) }] : [];
    });
  }
}

const SWEEP_INTERVAL_MS = 600_000;
const UPLOAD_DAYS = 2;
/** How often a folder is sent if crashes of the server lose what was sent. */
const MAX_STORES = 5;
/** How often a folder is fetched again because it was replaced meanwhile. */
const MAX_FETCHES = 20;
const FOREIGN_KEY_VIOLATION = '23503'; // the folder of a row was removed meanwhile

type Kind = 'staged' | 'published';

interface FolderRow {
  readonly id: string;
  readonly kind: Kind;
  readonly hash: string;
}

/** The folders of a storage: prepared in a directory of this machine, kept in the database, opened from the cache. */
export class Folders {
  readonly #database: Database;
  readonly #cache: FolderCache;
  readonly #stages: LocalStages;
  readonly #temporary: TemporaryDirectory;
  readonly #folderTable: string;
  readonly #stageTable: string;
  readonly #channel: string;
  readonly #queue = new KeyedQueue();
  readonly #stopListening: () => void;
  readonly #sweeping: NodeJS.Timeout;

  /** @param cache a directory for this database and others. Default: a temporary one. */
  static async create(database: Database, cache: string | undefined, cacheBytes: number): Promise<Folders> {
    const [row] = await database.query<{ id: string }>(`SELECT id FROM ${database.table('identity')}`);
    const temporary = new TemporaryDirectory();
    const root = join(cache ?? (await temporary.path()), row?.id ?? 'unknown');
    await mkdir(root, { recursive: true, mode: 0o700 });
    return new Folders(database, new FolderCache(root, cacheBytes), new LocalStages(root), temporary);
  }

  private constructor(database: Database, cache: FolderCache, stages: LocalStages, temporary: TemporaryDirectory) {
    this.#database = database;
    this.#cache = cache;
    this.#stages = stages;
    this.#temporary = temporary;
    this.#folderTable = database.table('folders');
    this.#stageTable = database.table('stages');
    this.#channel = database.channel('folders');
    this.#stopListening = this.#listen();
    const sweep = () => this.#sweep().catch(() => undefined); // what it can't delete does no harm
    this.#sweeping = setInterval(sweep, SWEEP_INTERVAL_MS).unref();
    void sweep();
  }

  stage(key: string): Promise<string> {
    return this.#queue.run(key, async () => {
      const here = this.#stages.get(key);
      if (here !== undefined && (await this.#token(key)) === here.token) return here.directory;
      for (const [other, token] of this.#stages.tokens()) {
        if (!(await this.#isCurrent(token))) await this.#stages.drop(other);
      }
      // The inner query sees the token of before.
      const [row] = await this.#database.query<{ token: string; earlier: string | null }>(
        `INSERT INTO ${this.#stageTable} (key, token) VALUES ($1, nextval('${this.#database.table('staging_tokens')}'))
         ON CONFLICT (key) DO UPDATE SET token = EXCLUDED.token
         RETURNING token, (SELECT token FROM ${this.#stageTable} WHERE key = $1) AS earlier`,
        [keyBytes(key)],
      );
      if (row === undefined) throw new Error('the database returned no token');
      return this.#stages.begin(key, row.token, row.earlier, async (directory) => {
        const saved = await this.#find(key, 'staged');
        if (saved !== undefined) await this.#fetch(saved, directory);
      });
    });
  }

  save(key: string): Promise<void> {
    return this.#queue.run(key, async () => {
      const { stage, files } = await withRetry(() => this.#staged(key));
      await this.#store(key, 'staged', stage, files);
    });
  }

  publish(key: string): Promise<void> {
    return this.#queue.run(key, async () => {
      const { stage, files } = await withRetry(() => this.#staged(key));
      const replaced = await this.#store(key, 'published', stage, files);
      // If this fails, opening the folder fetches it.
      await this.#cache.adopt(contentHash(files), stage.directory).catch(() => undefined);
      await this.#stages.drop(key);
      if (replaced !== undefined) await this.#forget([replaced]);
    });
  }

  /** Leaves what another process has staged since, if this one had staged the folder before. */
  discard(key: string): Promise<void> {
    return this.#queue.run(key, async () => {
      const here = this.#stages.get(key);
      if (here === undefined || (await this.#token(key)) === here.token) await this.#remove(key, ['staged']);
      await this.#stages.drop(key);
    });
  }

  async open(key: string): Promise<string | undefined> {
    for (let attempt = 1; ; attempt += 1) {
      const row = await this.#find(key, 'published');
      if (row === undefined) return undefined;
      try {
        return await this.#cache.open(row.hash, (directory) => this.#fetch(row, directory));
      } catch (thrown) {
        if (!(thrown instanceof FolderGone) || attempt === MAX_FETCHES) throw thrown;
      }
    }
  }

  async content(key: string, kind: Kind): Promise<FileContent[] | undefined> {
    const row = await this.#find(key, kind);
    if (row === undefined) return undefined;
    const contents: FileContent[] = [];
    for (const file of await storedFiles(this.#database, row.id)) {
      contents.push({ path: file.path, size: file.size, sha256: await storedHash(this.#database, file) });
    }
    return contents;
  }

  async describe(key: string): Promise<FolderDescription | undefined> {
    const [row] = await this.#database.query<{ folders: string; bytes: string; published: Date | null }>(
      `SELECT count(DISTINCT f.id) AS folders, coalesce(sum(size), 0) AS bytes,
         max(created) FILTER (WHERE kind = 'published') AS published
       FROM ${this.#folderTable} f
       LEFT JOIN ${this.#database.table('folder_files')} ON folder = f.id
       LEFT JOIN ${this.#database.table('files')} ON files.id = file WHERE f.key = $1 AND kind <> 'upload'`,
      [keyBytes(key)],
      { isRepeatable: true },
    );
    if (row === undefined || row.folders === '0') return undefined;
    const { bytes, published } = row;
    return { bytes: Number(bytes), ...(published !== null && { publishedMs: published.getTime() }) };
  }

  remove(key: string): Promise<void> {
    return this.#queue.run(key, async () => {
      const removed = await this.#remove(key, ['staged', 'published']);
      await this.#stages.drop(key);
      if (removed !== undefined) await this.#forget([removed]);
    });
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeping);
    this.#stopListening();
    await this.#stages.close();
    await this.#temporary.remove();
  }

  /** Removes from the cache what others remove or replace, and what it missed whenever it connects. */
  #listen(): () => void {
    const forget = (hashes: readonly string[]) => {
      this.#forget(hashes).catch(() => undefined); // the next connection makes up for it
    };
    return this.#database.listen(this.#channel, {
      heard: (hash) => forget([hash]),
      connected: () => {
        this.#cache.hashes().then(forget, () => undefined);
      },
    });
  }

  async #forget(hashes: readonly string[]): Promise<void> {
    if (hashes.length === 0) return;
    const rows = await this.#database.query<{ hash: string }>(
      `SELECT hash FROM unnest($1::text[]) AS cached (hash) WHERE NOT EXISTS
         (SELECT FROM ${this.#folderTable} f WHERE kind = 'published' AND f.hash = decode(cached.hash, 'hex'))`,
      [hashes],
      { isRepeatable: true },
    );
    for (const { hash } of rows) await this.#cache.remove(hash);
  }

  async #sweep(): Promise<void> {
    const isSuperseded = `NOT EXISTS (SELECT FROM ${this.#stageTable} s WHERE s.key = f.key AND s.token = f.token)`;
    const isOld = "created < now() - $1 * interval '1 day'";
    await this.#removeUploads(this.#database.query, `(${isSuperseded} OR ${isOld})`, [UPLOAD_DAYS]);
    await this.#cache.sweep();
    await this.#stages.sweep((token) => this.#isCurrent(token));
  }

  async #token(key: string): Promise<string | undefined> {
    const [row] = await this.#database.query<{ token: string }>(
      `SELECT token FROM ${this.#stageTable} WHERE key = $1`,
      [keyBytes(key)],
      { isRepeatable: true },
    );
    return row?.token;
  }

  async #isCurrent(token: string): Promise<boolean> {
    const text = `SELECT FROM ${this.#stageTable} WHERE token = $1`;
    return (await this.#database.query(text, [token], { isRepeatable: true })).length > 0;
  }

  async #find(key: string, kind: Kind): Promise<FolderRow | undefined> {
    const [row] = await this.#database.query<FolderRow>(
      `SELECT id, kind, encode(hash, 'hex') AS hash FROM ${this.#folderTable} WHERE key = $1 AND kind = $2`,
      [keyBytes(key), kind],
      { isRepeatable: true },
    );
    return row;
  }

  async #fetch({ id }: FolderRow, directory: string): Promise<void> {
    await fetchFiles(this.#database, await storedFiles(this.#database, id), directory);
  }

  async #staged(key: string): Promise<{ stage: LocalStage; files: FolderFile[] }> {
    const stage = this.#stages.get(key);
    if (stage === undefined) throw new Error('nothing is staged; call stageFolder first');
    const token = await this.#token(key);
    if (token !== stage.token) throw stagingLost(key, token);
    return { stage, files: await filesIn(stage.directory, stage.hashes) };
  }

  /**
   * Uploads files and then shows them as a folder, again if the server crashes in between.
   * @returns the content that was published before.
   * @throws StagingLost, Error if another process has staged, published or removed the folder; nothing has changed then.
   */
  async #store(key: string, kind: Kind, stage: LocalStage, files: readonly FolderFile[]): Promise<string | undefined> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#storeOnce(key, kind, stage, files);
      } catch (thrown) {
        if (!(thrown instanceof SentFilesLost) || attempt === MAX_STORES) throw thrown;
      }
    }
  }

  /** Files that were saved before are not sent again. @throws SentFilesLost */
  async #storeOnce(
    key: string,
    kind: Kind,
    { token, directory }: LocalStage,
    files: readonly FolderFile[],
  ): Promise<string | undefined> {
    const upload = await withRetry(() => this.#beginUpload(key, token, files));
    try {
      const saved = await withRetry(() => this.#find(key, 'staged'));
      const known = saved === undefined ? [] : await withRetry(() => storedFiles(this.#database, saved.id));
      const ids: string[] = [];
      for (const file of files) {
        const same = known.find(({ sha256, size }) => sha256 === file.sha256 && size === file.size);
        ids.push(same?.id ?? (await sendFile(this.#database, upload, join(directory, file.path), file)));
      }
      return await withRetry(() => this.#show(key, kind, token, upload, files, ids));
    } catch (thrown) {
      await this.#database
        .query(`DELETE FROM ${this.#folderTable} WHERE id = $1 AND kind = 'upload'`, [upload])
        .catch(() => undefined);
      if (codeOf(thrown) !== FOREIGN_KEY_VIOLATION) throw thrown;
      const current = await this.#token(key);
      throw current === token ? thrown : stagingLost(key, current);
    }
  }

  async #beginUpload(key: string, token: string, files: readonly FolderFile[]): Promise<string> {
    const [row] = await this.#database.query<{ id: string }>(
      `INSERT INTO ${this.#folderTable} (key, kind, token, hash) VALUES ($1, 'upload', $2, decode($3, 'hex')) RETURNING id`,
      [keyBytes(key), token, contentHash(files)],
      { isRepeatable: true },
    );
    if (row === undefined) throw new Error('the database returned no id for a folder');
    return row.id;
  }

  /** The transaction in which an upload becomes visible. @returns the content that was published before. */
  #show(
    key: string,
    kind: Kind,
    token: string,
    upload: string,
    files: readonly FolderFile[],
    ids: readonly string[],
  ): Promise<string | undefined> {
    return this.#database.transaction(async (query) => {
      const [own] = await query<{ kind: string }>(`SELECT kind FROM ${this.#folderTable} WHERE id = $1`, [upload]);
      if (own?.kind === kind) return undefined; // an earlier attempt succeeded, and its answer was lost
      const [stage] = await query<{ token: string }>(
        `SELECT token FROM ${this.#stageTable} WHERE key = $1 FOR UPDATE`,
        [keyBytes(key)],
      );
      if (stage?.token !== token || own === undefined) throw stagingLost(key, stage?.token);
      // The server may have given the number of a lost file to another one.
      const shown = await query(
        `INSERT INTO ${this.#database.table('folder_files')} (folder, path, file, modified)
         SELECT $1, path, id, modified FROM unnest($2::text[], $3::bigint[], $4::float8[], $5::text[])
           AS sent (path, file, modified, hash)
         JOIN ${this.#database.table('files')} ON id = file AND sha256 = decode(hash, 'hex') RETURNING path`,
        [
          upload,
          files.map(({ path }) => path),
          ids,
          files.map(({ modifiedMs }) => modifiedMs),
          files.map(({ sha256 }) => sha256),
        ],
      );
      if (shown.length < files.length) throw new SentFilesLost();
      await query(`UPDATE ${this.#database.table('files')} SET owner = $1 WHERE id = ANY($2) AND owner <> $1`, [
        upload,
        ids,
      ]);
      const kinds: Kind[] = kind === 'published' ? ['published', 'staged'] : ['staged'];
      const replaced = await this.#removeRows(query, key, kinds, upload);
      await query(`UPDATE ${this.#folderTable} SET kind = $2, created = now() WHERE id = $1`, [upload, kind]);
      if (kind === 'published') await query(`DELETE FROM ${this.#stageTable} WHERE key = $1`, [keyBytes(key)]);
      return replaced;
    });
  }

  #remove(key: string, kinds: readonly Kind[]): Promise<string | undefined> {
    const remove = async (query: Query) => {
      await query(`DELETE FROM ${this.#stageTable} WHERE key = $1`, [keyBytes(key)]);
      return this.#removeRows(query, key, kinds);
    };
    return withRetry(() => this.#database.transaction(remove));
  }

  /**
   * Removes folders of a key and its uploads, and notifies other processes of a published one.
   * @param kept the upload that stays. @returns the content that was published.
   */
  async #removeRows(query: Query, key: string, kinds: readonly Kind[], kept = '0'): Promise<string | undefined> {
    const removed = await query<FolderRow>(
      `DELETE FROM ${this.#folderTable} WHERE key = $1 AND kind = ANY($2) RETURNING id, kind, encode(hash, 'hex') AS hash`,
      [keyBytes(key), kinds],
    );
    await this.#removeUploads(query, 'key = $1 AND id <> $2', [keyBytes(key), kept]);
    const hash = removed.find(({ kind }) => kind === 'published')?.hash;
    if (hash !== undefined) await query('SELECT pg_notify($1, $2)', [this.#channel, hash]);
    return hash;
  }

  /** Skips uploads that another connection is busy with, as waiting for them could take long. */
  async #removeUploads(query: Query, condition: string, values: readonly unknown[]): Promise<void> {
    await query(
      `DELETE FROM ${this.#folderTable} WHERE id IN
         (SELECT id FROM ${this.#folderTable} f WHERE kind = 'upload' AND ${condition} FOR UPDATE SKIP LOCKED)`,
      values,
    );
  }
}

/** @param current the newest token of the folder; undefined if nothing is staged. */
function stagingLost(key: string, current: string | undefined): Error {
  return current === undefined
    ? new Error('nothing is staged any more: it was discarded or published elsewhere')
    : new StagingLost(key);
}

interface StoredFile extends FolderFile {
  readonly id: string;
}

/** The server crashed before files that it had accepted were on its disk. */
class SentFilesLost extends Error {
  override readonly name = 'SentFilesLost';
  override readonly message = 'the database crashed several times while files were sent to it; try again';
}

class FolderGone extends Error {
  override readonly name = 'FolderGone';
}

async function storedFiles(database: Database, folder: string): Promise<StoredFile[]> {
  const rows = await database.query<Omit<StoredFile, 'size'> & { size: string }>(
    `SELECT id, path, size, encode(sha256, 'hex') AS sha256, modified AS "modifiedMs"
     FROM ${database.table('folder_files')} JOIN ${database.table('files')} ON file = id WHERE folder = $1`,
    [folder],
    { isRepeatable: true },
  );
  return rows.map((row) => ({ ...row, size: Number(row.size) }));
}

/** Sends one file of an upload. @returns its id. @throws Error if the file is written meanwhile. */
function sendFile(database: Database, owner: string, path: string, content: FileContent): Promise<string> {
  return withRetry(() =>
    database.transaction(async (query) => {
      // The transaction that shows the folder waits for the disk, and finds out if a crash has lost this file before.
      await query('SET LOCAL synchronous_commit = off');
      const [file] = await query<{ id: string }>(
        `INSERT INTO ${database.table('files')} (owner, sha256, size) VALUES ($1, decode($2, 'hex'), $3) RETURNING id`,
        [owner, content.sha256, content.size],
      );
      if (file === undefined) throw new Error('the database returned no id for a file');
      const insert = `INSERT INTO ${database.table('chunks')} (file, number, bytes) VALUES ($1, $2, $3)`;
      const hash = createHash('sha256');
      let number = 0;
      for await (const chunk of chunksOf(path)) {
        hash.update(chunk);
        await query(insert, [file.id, number, chunk]);
        number += 1;
      }
      if (hash.digest('hex') === content.sha256) return file.id;
      throw new Error(`${path} was changed while it was being stored`);
    }),
  );
}

/**
 * Writes the files of a folder into a directory, and checks them.
 * @throws FolderGone; Error if the database holds something else than was stored.
 */
async function fetchFiles(database: Database, files: readonly StoredFile[], directory: string): Promise<void> {
  for (const file of files) {
    requireInner(file.path);
    const path = join(directory, file.path);
    await mkdir(dirname(path), { recursive: true });
    const target = await open(path, 'wx');
    try {
      const sha256 = await storedHash(database, file, (bytes) => target.writeFile(bytes));
      if (sha256 !== file.sha256) {
        throw new Error(
          `${file.path} is damaged in the database: its SHA-256 is ${sha256}, not ${file.sha256}; restore the database`,
        );
      }
      await target.datasync();
    } finally {
      await target.close();
    }
    // The middle of the millisecond: the call takes seconds, as a double, and rounds down.
    const seconds = (file.modifiedMs + 0.5) / 1000;
    await utimes(path, seconds, seconds);
  }
}

/** The hash of a file, read from the database. @param each gets its bytes, in order. @throws FolderGone */
async function storedHash(
  database: Database,
  { id, size }: StoredFile,
  each: (bytes: Buffer) => Promise<void> = async () => undefined,
): Promise<string> {
  const hash = createHash('sha256');
  for (let number = 0; number * CHUNK_BYTES < size; number += 1) {
    const [row] = await withRetry(() =>
      database.query<{ bytes: Buffer }>(
        `SELECT bytes FROM ${database.table('chunks')} WHERE file = $1 AND number = $2`,
        [id, number],
        { isRepeatable: true },
      ),
    );
    if (row === undefined) throw new FolderGone(`chunk ${number} of file ${id} was removed`);
    hash.update(row.bytes);
    await each(row.bytes);
  }
  return hash.digest('hex');
}

function requireInner(path: string): void {
  const isOdd = (part: string) => part === '' || part === '.' || part === '..';
  if (path.split('/').some(isOdd) || (sep !== '/' && path.includes(sep))) {
    throw new Error(`a folder in the database has a file ${JSON.stringify(path)}, which is not a path inside it`);
  }
}
