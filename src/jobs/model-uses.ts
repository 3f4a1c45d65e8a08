import { stat } from 'node:fs/promises';
import { clearTimeout, setTimeout } from 'node:timers';
import { LRUCache } from 'lru-cache';
import * as z from 'zod';
import { isOrchardError, type ModelRecord, requireOptions, validate } from '../contract/index.js';
import {
  type FolderDescription,
  isVersionConflict,
  type NewRecord,
  type Storage,
  withStorageErrors,
} from '../storage/index.js';
import { bytesIn } from '../system/index.js';
import type { AccountContext } from './account-context.js';
import { accountKey, MODEL_USES } from './account-records.js';
import { timestamp } from './clock.js';
import { type DeletionContext, deleteEnded } from './delete-model.js';
import { type JobRecord, toModelRecord } from './job-record.js';
import { JobRepository } from './job-repository.js';
import { VersionRecords } from './version-records.js';

/** A model's use is written at most this often by each process. */
const COARSENESS_MS = 60 * 60_000;
/** How long the first use after that may wait to be written, together with those of other models. */
const WRITE_AFTER_MS = 1000;
/** Models whose last use is remembered here; the uses of others may be written more often. */
const MAX_REMEMBERED = 10_000;

/**
 * When the models of an account were last used, as `model-uses/<app_id>/<id>`, to the hour. A query only costs a lookup
 * in a map: uses are written in the background, and a use that can't be written is lost without an error.
 */
export class ModelUses {
  readonly #storage: Storage;
  readonly #account: string;
  readonly #jobs: JobRepository;
  readonly #now: () => number;
  // By size, as the option `max` would reserve memory for each account.
  readonly #noted = new LRUCache<string, number>({ maxSize: MAX_REMEMBERED, sizeCalculation: () => 1 });
  readonly #unwritten = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(storage: Storage, appId: string, now: () => number = Date.now) {
    this.#storage = withStorageErrors(storage);
    this.#account = accountKey(appId);
    this.#jobs = new JobRepository(storage, appId);
    this.#now = now;
  }

  note(id: string): void {
    const now = this.#now();
    if (now - (this.#noted.get(id) ?? Number.NEGATIVE_INFINITY) < COARSENESS_MS) return;
    this.#noted.set(id, now);
    this.#unwritten.set(id, now);
    this.#timer ??= setTimeout(() => void this.flush(), WRITE_AFTER_MS).unref();
  }

  /** When the model was used last or, if never, when its job was created; undefined if no use is recorded yet. */
  async last(id: string): Promise<number | undefined> {
    return (await this.#read(id)).at;
  }

  /**
   * Records a use of a model, unless a later one is known. Leaves no record of a deleted model.
   * @throws StorageError
   */
  async track(id: string, at: number): Promise<void> {
    const { at: known, version } = await this.#read(id);
    if (known !== undefined && at - known < COARSENESS_MS) return;
    try {
      await this.#storage.write(MODEL_USES, this.#key(id), { at }, version);
    } catch (thrown) {
      if (!isVersionConflict(thrown)) throw thrown; // else another process has recorded the same use
    }
    // A deletion makes the job DELETED first, and then removes this record.
    const job = await this.#jobs.find(id);
    if (job === undefined || job.status === 'DELETED') await this.forget(id);
  }

  firstOf(id: string, at: number): NewRecord {
    return { collection: MODEL_USES, key: this.#key(id), value: { at } };
  }

  /** @throws StorageError */
  async forget(id: string): Promise<void> {
    this.#noted.delete(id);
    await this.#storage.remove(MODEL_USES, this.#key(id));
  }

  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(async () => {
      const uses = [...this.#unwritten];
      this.#unwritten.clear();
      for (const [id, at] of uses) {
        await this.track(id, at).catch(() => this.#noted.delete(id)); // the next use tries again
      }
    });
    return this.#writing;
  }

  async #read(id: string) {
    const found = await this.#storage.read(MODEL_USES, this.#key(id));
    const at = found && z.object({ at: z.number() }).safeParse(found.value).data?.at;
    return { at, version: found?.version };
  }

  #key(id: string): string {
    return `${this.#account}/${id}`;
  }
}

/** A READY model that had no query for some time. */
export interface UnusedModel {
  readonly model: ModelRecord;
  /** Its last use or, if there was none, when it became READY: ISO 8601, to the hour. */
  readonly unused_since: string;
  /** Size of its files. */
  readonly bytes: number;
}

/** Which models count as unused. */
export interface UnusedOptions {
  /** A model is unused after more than this many days without a query, 1 to 36,500. Default 30. */
  readonly days?: number | undefined;
}

const unusedSchema = z.strictObject({ days: z.number().min(1).max(36_500).default(30) });
const DAY_MS = 24 * 60 * 60_000;

/** @throws ValidationError */
export function unusedSettings(options: UnusedOptions): { readonly days: number } {
  return validate(unusedSchema, requireOptions(options, '`{ days }`'));
}

export type UnusedContext = DeletionContext & Pick<AccountContext, 'clock'>;

/** The models that count as unused, newest first. A model without a record of its uses counts from the first look. */
export async function unusedModels(context: UnusedContext, days: number): Promise<UnusedModel[]> {
  const found: UnusedModel[] = [];
  for await (const unused of eachUnused(context, days)) found.push(unused);
  return found;
}

export async function removeUnused(context: UnusedContext, days: number): Promise<UnusedModel[]> {
  const removed: UnusedModel[] = [];
  for await (const unused of eachUnused(context, days)) {
    const { model } = unused;
    if ((await context.jobs.find(model.id))?.status !== 'READY') continue;
    if (!(await isDeleted(context, model.id))) continue;
    removed.push({ ...unused, model: { ...model, training_status: 'DELETED' } });
  }
  return removed;
}

async function* eachUnused(context: UnusedContext, days: number): AsyncGenerator<UnusedModel, void, undefined> {
  const before = context.clock.now() - days * DAY_MS;
  const needed = await new VersionRecords(context.storage, context.app_id).neededModels();
  for await (const job of context.jobs.all({ trainingStatus: 'READY' })) {
    if (needed.has(job.id)) continue;
    const unused = await unusedModel(context, job, before);
    if (unused !== undefined) yield unused;
  }
}

async function unusedModel(
  { storage, uses, clock }: UnusedContext,
  job: JobRecord,
  before: number,
): Promise<UnusedModel | undefined> {
  if (Date.parse(job.created) >= before) return undefined;
  const last = await uses.last(job.id);
  if (last === undefined) await uses.track(job.id, clock.now());
  if (last === undefined || last >= before) return undefined;
  const { publishedMs: readyAt = 0, bytes } = await describeFolder(storage, job.id);
  const since = Math.max(last, readyAt, Date.parse(job.created));
  if (since >= before) return undefined;
  return { model: toModelRecord(job), unused_since: timestamp(since), bytes };
}

async function describeFolder(storage: Storage, id: string): Promise<FolderDescription> {
  const none = { bytes: 0 };
  if (storage.describeFolder !== undefined) {
    return (await storage.describeFolder(id)) ?? none;
  }
  const directory = await storage.openFolder(id);
  if (directory === undefined) return none;
  const found = await stat(directory).catch(() => undefined);
  return { bytes: await bytesIn(directory), publishedMs: found?.mtimeMs ?? 0 };
}

/** @returns false if a name points to it by now */
async function isDeleted(context: UnusedContext, id: string): Promise<boolean> {
  try {
    await deleteEnded(context, id);
    return true;
  } catch (thrown) {
    if (isOrchardError(thrown) && thrown.code === 'model_in_use') return false;
    if (isOrchardError(thrown) && thrown.code === 'not_found') return true; // its account was erased
    throw thrown;
  }
}
