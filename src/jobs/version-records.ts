import * as z from 'zod';
import {
  MAX_VERSION_CHANGES,
  ModelInUseError,
  type ModelType,
  modelTypeSchema,
  NotFoundError,
  StorageError,
  versionChangeSchema,
} from '../contract/index.js';
import { isVersionConflict, type Storage, type Version, withStorageErrors } from '../storage/index.js';
import { accountKey, VERSIONS } from './account-records.js';
import { lastWrite, noteWrite } from './job-writes.js';

export interface NamedModel {
  readonly id: string;
  readonly type: ModelType;
}

const namedModelSchema = z.lazy(() => z.strictObject({ id: z.string(), type: modelTypeSchema }));

const shadowSchema = z.lazy(() =>
  z.strictObject({
    model: namedModelSchema,
    /** Random token of the counts. They begin anew with another token. */
    run: z.string(),
    since: z.string(),
  }),
);

const nameSchema = z.lazy(() =>
  z.strictObject({
    /** The last one answers; a rollback removes it. */
    models: z.array(namedModelSchema).min(1).max(MAX_VERSION_CHANGES).readonly(),
    /** The latest last. */
    history: z.array(versionChangeSchema).max(MAX_VERSION_CHANGES).readonly(),
    shadow: shadowSchema.exactOptional(),
  }),
);
/** What a name points to, and pointed to before. */
export type NameRecord = z.infer<typeof nameSchema>;

const namesSchema = z.lazy(() =>
  z.strictObject({
    names: z.record(z.string(), nameSchema).readonly(),
    /** Ids of models whose deletion has begun: no name can point to them any more. */
    deleting: z.array(z.string()).readonly(),
  }),
);
/** All names of an account. */
export type NamesRecord = z.infer<typeof namesSchema>;

const NONE: NamesRecord = { names: {}, deleting: [] };
/** Each conflict means that another write succeeded, so this many in a row mean a broken storage. */
const MAX_WRITE_ATTEMPTS = 100;
/** How long a change by another process may go unnoticed. */
const FRESH_MS = 1000;
/** After this, the record is read again in the background, so that no query waits for the storage. */
const RENEW_MS = 500;

/**
 * The names of one account, in one record `versions/<app_id>`. A change is one conditional write of it, so readers see
 * the state before or after. That the names share a record also orders the deletion of a model and its promotion: the
 * deletion first adds the model to `deleting`, if no name points to it.
 */
export class VersionRecords {
  readonly #storage: Storage;
  readonly #key: string;

  constructor(storage: Storage, appId: string) {
    this.#storage = withStorageErrors(storage);
    this.#key = accountKey(appId);
  }

  async read(): Promise<NamesRecord> {
    return (await this.#read()).record;
  }

  /** {@link read} for a caller: afterwards this process answers by nothing older than what it told. */
  async tell(): Promise<NamesRecord> {
    try {
      return await this.read();
    } finally {
      noteWrite(this.#storage, this.#token);
    }
  }

  /** A token of the last time that this process wrote or told the record. */
  get lastWrite(): object | undefined {
    return lastWrite(this.#storage, this.#token);
  }

  /**
   * Writes what `change` returns, unless that is the record itself. After a concurrent write, calls `change` again.
   * @throws StorageError, and whatever `change` throws
   */
  async update(change: (record: NamesRecord) => Promise<NamesRecord>): Promise<NamesRecord> {
    try {
      return await this.#update(change);
    } finally {
      // Also if nothing had to be written, since another process may have written the same before; and after a failure,
      // since a database that is cut off may have written.
      noteWrite(this.#storage, this.#token);
    }
  }

  async #update(change: (record: NamesRecord) => Promise<NamesRecord>): Promise<NamesRecord> {
    for (let attempt = 1; attempt <= MAX_WRITE_ATTEMPTS; attempt += 1) {
      const { record, version } = await this.#read();
      const changed = await change(record);
      if (changed === record) return record;
      try {
        await this.#storage.write(VERSIONS, this.#key, JSON.parse(JSON.stringify(changed)), version);
        return changed;
      } catch (thrown) {
        if (!isVersionConflict(thrown)) throw thrown;
      }
    }
    throw new StorageError(
      `record ${VERSIONS}/${this.#key} could not be written: its version kept changing; try again`,
    );
  }

  /** Keeps names from pointing to a model from now on. @throws ModelInUseError if one does */
  async beginDeletion(id: string): Promise<void> {
    await this.update(async (record) => {
      const names = Object.entries(record.names).filter(([, { models, shadow }]) => {
        return models.at(-1)?.id === id || shadow?.model.id === id;
      });
      if (names.length > 0) throw new ModelInUseError(id, names.map(([name]) => name).sort());
      return record.deleting.includes(id) ? record : { ...record, deleting: [...record.deleting, id] };
    });
  }

  /** Once the model is DELETED. */
  async endDeletion(id: string): Promise<void> {
    await this.update(async (record) => {
      if (!record.deleting.includes(id)) return record;
      return { ...record, deleting: record.deleting.filter((each) => each !== id) };
    });
  }

  /** Models that must not be removed as unused: those that names point to, their shadows, and those before them. */
  async neededModels(): Promise<ReadonlySet<string>> {
    const { names } = await this.read();
    return new Set(
      Object.values(names).flatMap(({ models, shadow }) => [
        ...models.slice(-2).map(({ id }) => id),
        ...(shadow ? [shadow.model.id] : []),
      ]),
    );
  }

  async removeName(name: string): Promise<void> {
    await this.update(async (record) => {
      const { [name]: removed, ...names } = record.names;
      return removed === undefined ? record : { ...record, names };
    });
  }

  async #read(): Promise<{ readonly record: NamesRecord; readonly version: Version | undefined }> {
    const found = await this.#storage.read(VERSIONS, this.#key);
    if (found === undefined) return { record: NONE, version: undefined };
    const parsed = namesSchema.safeParse(found.value);
    if (parsed.success) return { record: parsed.data, version: found.version };
    const msg = `record ${VERSIONS}/${this.#key} is damaged; restore it from a backup, or remove it and promote the models again`;
    throw new StorageError(msg, { cause: parsed.error });
  }

  /** No job has such an id. */
  get #token(): string {
    return `${VERSIONS}/${this.#key}`;
  }
}

/** What a name points to now. */
export interface PointedModel {
  readonly model: NamedModel;
  readonly shadow?: NameRecord['shadow'];
}

interface KnownNames {
  readonly record: NamesRecord;
  readonly write: object | undefined;
  readonly readAt: number;
  isRenewed: boolean;
}

/** What an account's names point to, kept for a second after it was read, or until this process changes it. */
export class VersionNames {
  readonly #records: VersionRecords;
  readonly #clock: { now(): number };
  #known: KnownNames | undefined;

  constructor(storage: Storage, appId: string, clock: { now(): number } = performance) {
    this.#records = new VersionRecords(storage, appId);
    this.#clock = clock;
  }

  /** Without a promise if it is kept. @throws NotFoundError, StorageError */
  find(name: string): PointedModel | Promise<PointedModel> {
    const known = this.#known;
    if (known === undefined || known.write !== this.#records.lastWrite) return this.read(name);
    const age = this.#clock.now() - known.readAt;
    if (age >= FRESH_MS) return this.read(name);
    if (age >= RENEW_MS && !known.isRenewed) {
      known.isRenewed = true;
      // A failure reaches the first query after the second.
      this.#read().catch(() => undefined);
    }
    return pointedIn(known.record, name);
  }

  /** Reads it from the storage. @throws NotFoundError, StorageError */
  async read(name: string): Promise<PointedModel> {
    return pointedIn(await this.#read(), name);
  }

  async #read(): Promise<NamesRecord> {
    const [write, readAt] = [this.#records.lastWrite, this.#clock.now()];
    const record = await this.#records.read();
    // Of two readings at a time, the later one counts.
    if (this.#known === undefined || this.#known.readAt <= readAt) {
      this.#known = { record, write, readAt, isRenewed: false };
    }
    return record;
  }
}

function pointedIn(record: NamesRecord, name: string): PointedModel {
  const { models, shadow } = nameIn(record, name);
  const model = models.at(-1);
  if (model === undefined) throw new NotFoundError('version', name);
  return { model, ...(shadow && { shadow }) };
}

/** @throws NotFoundError that lists the names there are */
export function nameIn({ names }: NamesRecord, name: string): NameRecord {
  if (Object.hasOwn(names, name)) {
    const found = names[name];
    if (found !== undefined) return found;
  }
  const others = Object.keys(names).sort();
  throw new NotFoundError(
    'version',
    name,
    others.length > 0 ? `the account has ${others.join(', ')}` : 'promote a model first',
  );
}
