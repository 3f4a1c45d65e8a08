import type { FolderFile } from '../files/index.js';
import { contentHash } from '../files/index.js';
import type { FolderDescription } from '../storage/index.js';
import { codeOf } from './connection-failure.js';
import type { Database, Query } from './database.js';
import { keyBytes } from './key-bytes.js';
import { patiently } from './patiently.js';
import { type StoredFile, sendFile, storedFiles } from './transfers.js';

/** A folder in the database. */
export interface FolderRow {
  readonly id: string;
  /** Of its content, as hexadecimal digits. */
  readonly hash: string;
}

/** What a folder that is there may be. */
type Kind = 'staged' | 'published';

/** What became of an attempt to show an upload. */
export interface Shown {
  /** The content that was there before; undefined where there was none. */
  readonly replaced: string | undefined;
}

/** An upload that took longer than this was given up. */
const UPLOAD_DAYS = 2;
/** SQLSTATE of a row whose folder was removed meanwhile. */
const FOREIGN_KEY_VIOLATION = '23503';

/** The rows of folders and of who stages them. */
export class FolderRows {
  readonly #database: Database;
  readonly #folders: string;
  readonly #stages: string;

  constructor(database: Database) {
    this.#database = database;
    this.#folders = database.table('folders');
    this.#stages = database.table('stages');
  }

  async find(key: string, kind: Kind): Promise<FolderRow | undefined> {
    const [row] = await this.#database.query<{ id: string; hash: string }>(
      `SELECT id, encode(hash, 'hex') AS hash FROM ${this.#folders} WHERE key = $1 AND kind = $2`,
      [keyBytes(key), kind],
      { isRepeatable: true },
    );
    return row;
  }

  async describe(key: string): Promise<FolderDescription | undefined> {
    const [row] = await this.#database.query<{ folders: string; bytes: string; published: Date | null }>(
      `SELECT count(DISTINCT f.id) AS folders, coalesce(sum(size), 0) AS bytes,
         max(created) FILTER (WHERE kind = 'published') AS published
       FROM ${this.#folders} f
       LEFT JOIN ${this.#database.table('folder_files')} ON folder = f.id
       LEFT JOIN ${this.#database.table('files')} ON files.id = file WHERE f.key = $1 AND kind <> 'upload'`,
      [keyBytes(key)],
      { isRepeatable: true },
    );
    if (row === undefined || row.folders === '0') return undefined;
    const { bytes, published } = row;
    return { bytes: Number(bytes), ...(published !== null && { publishedMs: published.getTime() }) };
  }

  /** Those of the contents that no published folder has. */
  async withoutFolder(hashes: readonly string[]): Promise<string[]> {
    const rows = await this.#database.query<{ hash: string }>(
      `SELECT hash FROM unnest($1::text[]) AS asked (hash)
       WHERE NOT EXISTS (SELECT FROM ${this.#folders} f WHERE kind = 'published' AND f.hash = decode(asked.hash, 'hex'))`,
      [hashes],
      { isRepeatable: true },
    );
    return rows.map(({ hash }) => hash);
  }

  /** The token of whoever staged the folder last; undefined if nothing is staged. */
  async token(key: string): Promise<string | undefined> {
    const [row] = await this.#database.query<{ token: string }>(
      `SELECT token FROM ${this.#stages} WHERE key = $1`,
      [keyBytes(key)],
      { isRepeatable: true },
    );
    return row?.token;
  }

  /** Whether a token is the newest one of any folder. */
  async isCurrent(token: string): Promise<boolean> {
    const rows = await this.#database.query(`SELECT FROM ${this.#stages} WHERE token = $1`, [token], {
      isRepeatable: true,
    });
    return rows.length > 0;
  }

  /** Takes the stage of a folder. @returns the new token, and the one before. */
  takeStage(key: string): Promise<{ readonly token: string; readonly earlier: string | undefined }> {
    return this.#database.transaction(async (query) => {
      const earlier = await this.#lockedToken(query, key);
      const [row] = await query<{ token: string }>(
        `INSERT INTO ${this.#stages} (key, token) VALUES ($1, nextval('${this.#database.table('staging_tokens')}'))
         ON CONFLICT (key) DO UPDATE SET token = EXCLUDED.token RETURNING token`,
        [keyBytes(key)],
      );
      if (row === undefined) throw new Error('no token came back');
      return { token: row.token, earlier };
    });
  }

  /**
   * Stores files under a key, as what `kind` says; those that what is staged has already are not sent again.
   * @param token must be the newest one of the key when all is there.
   * @returns undefined where the token isn't; nothing has changed then.
   */
  async store(
    key: string,
    kind: Kind,
    token: string,
    files: readonly FolderFile[],
    pathOf: (file: FolderFile) => string,
    tell: (query: Query, replaced: string | undefined) => Promise<void>,
  ): Promise<Shown | undefined> {
    const upload = await this.#beginUpload(key, token, files);
    try {
      const known = await patiently(() => this.#saved(key));
      const ids: string[] = [];
      for (const file of files) {
        const same = known.find(({ sha256, size }) => sha256 === file.sha256 && size === file.size);
        ids.push(same?.id ?? (await sendFile(this.#database, upload, pathOf(file), file)));
      }
      return await patiently(() => this.#show({ key, kind, token, upload, files, ids, tell }));
    } catch (thrown) {
      await this.#database
        .query(`DELETE FROM ${this.#folders} WHERE id = $1 AND kind = 'upload'`, [upload])
        .catch(() => undefined);
      const isGone = codeOf(thrown) === FOREIGN_KEY_VIOLATION && (await this.token(key)) !== token;
      if (isGone) return undefined;
      throw thrown;
    }
  }

  /** Removes what is staged under a key and, if asked for, what is published. @returns the content that was published. */
  remove(
    key: string,
    kinds: readonly Kind[],
    tell: (query: Query, replaced: string | undefined) => Promise<void>,
  ): Promise<string | undefined> {
    return patiently(() =>
      this.#database.transaction(async (query) => {
        await query(`DELETE FROM ${this.#stages} WHERE key = $1`, [keyBytes(key)]);
        const rows = await query<{ kind: string; hash: string }>(
          `DELETE FROM ${this.#folders} WHERE key = $1 AND kind = ANY($2) RETURNING kind, encode(hash, 'hex') AS hash`,
          [keyBytes(key), kinds],
        );
        await this.#removeUploads(query, 'key = $1', [keyBytes(key)]);
        const replaced = rows.find(({ kind }) => kind === 'published')?.hash;
        if (rows.length > 0) await tell(query, replaced);
        return replaced;
      }),
    );
  }

  /** Removes what processes were sending when they were killed or another one took over. */
  async sweep(): Promise<void> {
    const isOver = `NOT EXISTS (SELECT FROM ${this.#stages} s WHERE s.key = f.key AND s.token = f.token)`;
    const isOld = "created < now() - $1 * interval '1 day'";
    await this.#removeUploads(this.#database.query, `(${isOver} OR ${isOld})`, [UPLOAD_DAYS]);
  }

  /** Those under way on a connection that is there yet are passed over: who waited for them might wait for long. */
  async #removeUploads(query: Query, condition: string, values: readonly unknown[]): Promise<void> {
    await query(
      `DELETE FROM ${this.#folders} WHERE id IN
         (SELECT id FROM ${this.#folders} f WHERE kind = 'upload' AND ${condition} FOR UPDATE SKIP LOCKED)`,
      values,
    );
  }

  async #beginUpload(key: string, token: string, files: readonly FolderFile[]): Promise<string> {
    const [row] = await patiently(() =>
      this.#database.query<{ id: string }>(
        `INSERT INTO ${this.#folders} (key, kind, token, hash) VALUES ($1, 'upload', $2, decode($3, 'hex')) RETURNING id`,
        [keyBytes(key), token, contentHash(files)],
        { isRepeatable: true },
      ),
    );
    if (row === undefined) throw new Error('no id came back for a folder');
    return row.id;
  }

  async #saved(key: string): Promise<StoredFile[]> {
    const saved = await this.find(key, 'staged');
    return saved === undefined ? [] : storedFiles(this.#database, saved.id);
  }

  /** The one transaction in which an upload becomes what others see. */
  #show({ key, kind, token, upload, files, ids, tell }: Showing): Promise<Shown | undefined> {
    return this.#database.transaction(async (query) => {
      // After an attempt whose answer was lost.
      const [own] = await query<{ kind: string }>(`SELECT kind FROM ${this.#folders} WHERE id = $1`, [
        upload,
      ]);
      if (own?.kind === kind) return { replaced: undefined };
      if ((await this.#lockedToken(query, key)) !== token || own === undefined) return undefined;
      await query(
        `INSERT INTO ${this.#database.table('folder_files')} (folder, path, file, modified)
         SELECT $1, * FROM unnest($2::text[], $3::bigint[], $4::float8[])`,
        [upload, files.map(({ path }) => path), ids, files.map(({ modifiedMs }) => modifiedMs)],
      );
      await query(
        `UPDATE ${this.#database.table('files')} SET owner = $1 WHERE id = ANY($2) AND owner <> $1`,
        [upload, ids],
      );
      const superseded = kind === 'published' ? ['published', 'staged'] : ['staged'];
      const gone = await query<{ kind: string; hash: string }>(
        `DELETE FROM ${this.#folders} WHERE key = $1 AND kind = ANY($2) RETURNING kind, encode(hash, 'hex') AS hash`,
        [keyBytes(key), superseded],
      );
      await this.#removeUploads(query, 'key = $1 AND id <> $2', [keyBytes(key), upload]);
      await query(`UPDATE ${this.#folders} SET kind = $2, created = now() WHERE id = $1`, [upload, kind]);
      const replaced = gone.find((each) => each.kind === 'published')?.hash;
      if (kind === 'published') {
        await query(`DELETE FROM ${this.#stages} WHERE key = $1`, [keyBytes(key)]);
        await tell(query, replaced);
      }
      return { replaced };
    });
  }

  async #lockedToken(query: Query, key: string): Promise<string | undefined> {
    const [row] = await query<{ token: string }>(
      `SELECT token FROM ${this.#stages} WHERE key = $1 FOR UPDATE`,
      [keyBytes(key)],
    );
    return row?.token;
  }
}

interface Showing {
  readonly key: string;
  readonly kind: Kind;
  readonly token: string;
  readonly upload: string;
  readonly files: readonly FolderFile[];
  readonly ids: readonly string[];
  readonly tell: (query: Query, replaced: string | undefined) => Promise<void>;
}
