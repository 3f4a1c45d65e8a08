import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Account, TrainingRequest } from '../contract/index.js';
import {
  hasEnded,
  JobRepository,
  type StoredUpload,
  UPLOADED_ZIP,
  UploadRecords,
  uploadFolder,
  uploadUrl,
} from '../jobs/index.js';
import type { Storage } from '../storage/index.js';
import type { SignalOptions } from '../trainer/index.js';
import {
  ABANDONED_AFTER_MS,
  announcedBytes,
  type DatasetUploads,
  MAX_WAITING_UPLOADS,
  noUpload,
  saveDataset,
} from './dataset-uploads.js';
import type { BodyLimits } from './read-body.js';
import { outcomeOf, type TrainerService } from './services.js';
import { type UploadLimits, uploadRefusal } from './upload-budget.js';

/** How often uploads that nobody needs any more are looked for. */
const SWEEP_MS = 60_000;
/** After this a job that was being made of an upload when its process died is given up. */
const TAKEN_IN_VAIN_MS = 24 * 60 * 60_000;

/**
 * Dataset zips in the storage, so that a trainer of another machine can read them and any process can make the job.
 * Limits hold over all processes; of two uploads that together go beyond one, both may be refused.
 */
export class StoredUploads implements DatasetUploads {
  readonly #storage: Storage;
  readonly #records: UploadRecords;
  readonly #trainer: (account: Account) => TrainerService;
  readonly #limits: UploadLimits;
  readonly #timer: NodeJS.Timeout;
  #sweeping: Promise<void> | undefined;

  constructor(storage: Storage, trainer: (account: Account) => TrainerService, limits: UploadLimits = {}) {
    this.#storage = storage;
    this.#records = new UploadRecords(storage);
    this.#trainer = trainer;
    this.#limits = limits;
    this.#timer = setInterval(() => void this.sweep().catch(() => undefined), SWEEP_MS).unref();
  }

  async save({ app_id }: Account, request: Request, limits: BodyLimits): Promise<string> {
    const id = randomUUID();
    const arriving = await this.#reserve(app_id, id, announcedBytes(request, limits));
    try {
      const directory = await this.#storage.stageFolder(uploadFolder(id));
      const bytes = await saveDataset(request, join(directory, UPLOADED_ZIP), limits);
      await this.#storage.publishFolder(uploadFolder(id));
      // Without a record, the account was erased meanwhile.
      if (!(await this.#records.change(arriving, { state: 'waiting', bytes }))) throw noUpload();
    } catch (thrown) {
      await this.#records.remove(app_id, id).catch(() => undefined); // else the sweep does
      throw thrown;
    }
    await this.#removeOldest(app_id, MAX_WAITING_UPLOADS);
    return id;
  }

  async train(
    account: Account,
    id: string,
    request: Omit<TrainingRequest, 'dataset_url'>,
    options: SignalOptions,
  ): Promise<{ id: string }> {
    const found = await this.#records.find(account.app_id, id);
    if (found?.upload.state !== 'waiting') throw noUpload();
    const taken = await this.#records.change(found, { state: 'taken' });
    if (taken === undefined) throw noUpload(); // another request was faster
    const created = { ...request, dataset_url: uploadUrl(id) };
    const creating = this.#trainer(account).createTrainingJob(created, { ...options, allowFileUrl: true });
    try {
      const job = await outcomeOf(creating);
      await this.#records.change(taken, { job: job.id }).catch(() => undefined);
      return job;
    } catch (thrown) {
      await this.#records.change(taken, { state: 'waiting' }).catch(() => undefined);
      throw thrown;
    }
  }

  async erase(app_id: string): Promise<number> {
    const uploads = await this.#records.all(app_id);
    for (const { id } of uploads) await this.#records.remove(app_id, id);
    return uploads.length;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#sweeping;
  }

  /** Removes the uploads whose jobs have ended, and what nobody has made a job of. @throws StorageError */
  async sweep(now = Date.now()): Promise<void> {
    this.#sweeping ??= this.#sweep(now).finally(() => {
      this.#sweeping = undefined;
    });
    return this.#sweeping;
  }

  async #sweep(now: number): Promise<void> {
    for (const each of await this.#records.all()) {
      if (await this.#isOver(each, now)) await this.#records.remove(each.app_id, each.id);
    }
  }

  async #isOver({ app_id, upload: { state, job, at } }: StoredUpload, now: number): Promise<boolean> {
    if (job === null) return now - at > (state === 'taken' ? TAKEN_IN_VAIN_MS : ABANDONED_AFTER_MS);
    const found = await new JobRepository(this.#storage, app_id).find(job);
    return found === undefined || hasEnded(found.status);
  }

  /**
   * Announces what is about to come. Where it is too much, uploads of the account that wait for a job are given up, the
   * oldest first. @throws Refusal where that is not enough
   */
  async #reserve(app_id: string, id: string, bytes: number): Promise<StoredUpload> {
    const upload = { state: 'arriving', bytes, at: Date.now(), job: null } as const;
    const arriving = await this.#records.add(app_id, id, upload);
    for (;;) {
      const refusal = uploadRefusal(await this.#bytesOf(app_id), this.#limits);
      if (refusal === undefined) return arriving;
      if (await this.#removeOldest(app_id, 0)) continue;
      await this.#records.remove(app_id, id);
      throw refusal;
    }
  }

  async #bytesOf(app_id: string): Promise<{ account: number; all: number }> {
    const uploads = await this.#records.all();
    const own = uploads.filter((each) => each.app_id === app_id);
    const sum = (some: readonly StoredUpload[]) => some.reduce((bytes, each) => bytes + each.upload.bytes, 0);
    return { account: sum(own), all: sum(uploads) };
  }

  /** @returns whether the account had more than so many that wait for a job. */
  async #removeOldest(app_id: string, most: number): Promise<boolean> {
    const all = await this.#records.all(app_id);
    const waiting = all.filter(({ upload }) => upload.state === 'waiting');
    const [oldest] = waiting;
    if (oldest === undefined || waiting.length <= most) return false;
    // One that a job takes at this moment stays.
    const taken = await this.#records.change(oldest, { state: 'taken' });
    if (taken !== undefined) await this.#records.remove(app_id, oldest.id);
    return true;
  }
}
