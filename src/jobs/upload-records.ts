import { validate as isUuid } from 'uuid';
import * as z from 'zod';
import {
  isVersionConflict,
  type Storage,
  type StoredRecord,
  type Version,
  withStorageErrors,
} from '../storage/index.js';
import { accountKey, accountOf, idIn, recordPages, UPLOADS } from './account-records.js';

const uploadSchema = z.lazy(() =>
  z.strictObject({
    /** `arriving` until the zip is there whole, `taken` once a job is made of it. */
    state: z.enum(['arriving', 'waiting', 'taken']),
    /** Its size; while it arrives, the announced size. */
    bytes: z.int().min(0),
    /** When it began to arrive, in milliseconds since 1970. */
    at: z.number(),
    job: z.string().nullable(),
  }),
);
type Upload = z.infer<typeof uploadSchema>;

export interface StoredUpload {
  readonly app_id: string;
  readonly id: string;
  readonly upload: Upload;
  readonly version: Version;
}

export const UPLOADED_ZIP = 'dataset.zip';
const URL_START = 'file:///stored-upload/';

/** The key of an upload's folder, which no job has. */
export function uploadFolder(id: string): string {
  return `upload/${id}`;
}

/** The dataset_url of a job that trains on an upload. It names no file of a machine: its training opens the folder. */
export function uploadUrl(id: string): string {
  return `${URL_START}${id}.zip`;
}

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
    this.#storage = withStorageErrors(storage);
  }

  async find(app_id: string, id: string): Promise<StoredUpload | undefined> {
    if (!isUuid(id)) return undefined;
    const key = keyOf(app_id, id);
    const found = await this.#storage.read(UPLOADS, key);
    return found && parsed({ key, ...found });
  }

  async add(app_id: string, id: string, upload: Upload): Promise<StoredUpload> {
    const version = await this.#storage.write(UPLOADS, keyOf(app_id, id), upload, undefined);
    return { app_id, id, upload, version };
  }

  /** @returns undefined, and changes nothing, after a concurrent change. */
  async change(
    { app_id, id, upload, version }: StoredUpload,
    change: Partial<Upload>,
  ): Promise<StoredUpload | undefined> {
    const changed = { ...upload, ...change };
    try {
      const written = await this.#storage.write(UPLOADS, keyOf(app_id, id), changed, version);
      return { app_id, id, upload: changed, version: written };
    } catch (thrown) {
      if (isVersionConflict(thrown)) return undefined;
      throw thrown;
    }
  }

  /** Removes the zip, then the record, so that after a failure another call can remove the rest. */
  async remove(app_id: string, id: string): Promise<void> {
    await this.#storage.removeFolder(uploadFolder(id));
    await this.#storage.remove(UPLOADS, keyOf(app_id, id));
  }

  /** The uploads of an account, or of all accounts; the oldest first. */
  async all(app_id?: string): Promise<StoredUpload[]> {
    const prefix = app_id === undefined ? '' : `${accountKey(app_id)}/`;
    const found: StoredUpload[] = [];
    for await (const records of recordPages(this.#storage, UPLOADS, prefix)) {
      found.push(...records.flatMap((record) => parsed(record) ?? []));
    }
    return found.sort((a, b) => a.upload.at - b.upload.at);
  }
}

function keyOf(app_id: string, id: string): string {
  return `${accountKey(app_id)}/${id}`;
}

function parsed({ key, value, version }: StoredRecord): StoredUpload | undefined {
  const app_id = accountOf(key);
  const upload = uploadSchema.safeParse(value);
  if (app_id === undefined || !upload.success) return undefined;
  return { app_id, id: idIn(key), upload: upload.data, version };
}
