import { validate as isUuid } from 'uuid';
import * as z from 'zod';
import { isVersionConflict, type Storage, type StoredRecord, type Version } from '../storage/index.js';
import { accountKey, decodedName, idIn } from './account-records.js';
import { UPLOADS } from './collections.js';
import { stored } from './stored.js';

const uploadSchema = z.strictObject({
  /** `arriving` until the zip is there whole, `taken` once a job is made of it. */
  state: z.enum(['arriving', 'waiting', 'taken']),
  /** What it takes; while it arrives, what was announced. */
  bytes: z.int().min(0),
  /** When it began to arrive, in milliseconds since 1970. */
  at: z.number(),
  /** The job that was made of it. */
  job: z.string().nullable(),
});
/** A dataset that an account has sent, as its record tells of it. */
export type Upload = z.infer<typeof uploadSchema>;

export interface StoredUpload {
  readonly app_id: string;
  readonly id: string;
  readonly upload: Upload;
  readonly version: Version;
}

/** The name of the zip in its folder. */
export const UPLOADED_ZIP = 'dataset.zip';
const LISTED_TOGETHER = 1000;
const URL_START = 'file:///stored-upload/';

/** The folder of an upload: a key that no job has. */
export function uploadFolder(id: string): string {
  return `upload/${id}`;
}

/** What a job has as the dataset_url of an upload. It is no file of any machine: whoever trains opens the folder. */
export function uploadUrl(id: string): string {
  return `${URL_START}${id}.zip`;
}

/** The id of the upload that a dataset_url stands for; undefined for any other URL. */
export function uploadIn(dataset_url: string): string | undefined {
  if (!dataset_url.startsWith(URL_START)) return undefined;
  const id = dataset_url.slice(URL_START.length).replace(/\.zip$/, '');
  return isUuid(id) ? id : undefined;
}

/**
 * The datasets that accounts have sent and that wait in the storage for their jobs, as `uploads/<app_id>/<id>`, each with
 * a folder. Every method throws a StorageError if the storage fails.
 */
export class UploadRecords {
  readonly #storage: Storage;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  async find(app_id: string, id: string): Promise<StoredUpload | undefined> {
    if (!isUuid(id)) return undefined;
    const key = keyOf(app_id, id);
    const found = await stored(() => this.#storage.read(UPLOADS, key));
    return found && parsed({ key, ...found });
  }

  async add(app_id: string, id: string, upload: Upload): Promise<StoredUpload> {
    const version = await stored(() => this.#storage.write(UPLOADS, keyOf(app_id, id), upload, undefined));
    return { app_id, id, upload, version };
  }

  /** @returns undefined, and changes nothing, where somebody else was faster. */
  async change(
    { app_id, id, upload, version }: StoredUpload,
    change: Partial<Upload>,
  ): Promise<StoredUpload | undefined> {
    const changed = { ...upload, ...change };
    try {
      const write = () => this.#storage.write(UPLOADS, keyOf(app_id, id), changed, version);
      return { app_id, id, upload: changed, version: await stored(write) };
    } catch (thrown) {
      if (isVersionConflict(thrown)) return undefined;
      throw thrown;
    }
  }

  /** Removes the zip, then the record, so that a repetition finds what a failure left. */
  async remove(app_id: string, id: string): Promise<void> {
    await stored(() => this.#storage.removeFolder(uploadFolder(id)));
    await stored(() => this.#storage.remove(UPLOADS, keyOf(app_id, id)));
  }

  /** Those of an account, or of all accounts; those of one account from the oldest on. */
  async all(app_id?: string): Promise<StoredUpload[]> {
    const prefix = app_id === undefined ? '' : `${accountKey(app_id)}/`;
    const found: StoredUpload[] = [];
    for (let after: string | undefined; ; ) {
      const listing = { prefix, limit: LISTED_TOGETHER, ...(after !== undefined && { after }) };
      const records = await stored(() => this.#storage.list(UPLOADS, listing));
      found.push(...records.flatMap((record) => parsed(record) ?? []));
      if (records.length < LISTED_TOGETHER) return found.sort((a, b) => a.upload.at - b.upload.at);
      after = records.at(-1)?.key;
    }
  }
}

function keyOf(app_id: string, id: string): string {
  return `${accountKey(app_id)}/${id}`;
}

/** @returns undefined for anything that is not an upload. */
function parsed({ key, value, version }: StoredRecord): StoredUpload | undefined {
  const app_id = decodedName(key.slice(0, Math.max(0, key.indexOf('/'))));
  const upload = uploadSchema.safeParse(value);
  if (app_id === undefined || !upload.success) return undefined;
  return { app_id, id: idIn(key), upload: upload.data, version };
}
