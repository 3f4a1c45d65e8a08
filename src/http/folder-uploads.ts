import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as z from 'zod';
import { type Account, accountSchema, type TrainingRequest } from '../contract/index.js';
import { isOrchardError } from '../errors.js';
import { TemporaryDirectory } from '../files/index.js';
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
import { UploadBudget, type UploadLimits } from './upload-budget.js';
import { eraseUploads, uploadFileName, ZIP_EXTENSION } from './upload-files.js';

interface Upload {
  readonly app_id: string;
  readonly path: string;
  readonly bytes: number;
  /** A job is being made of it. */
  isTaken: boolean;
}

/** Kept beside an upload that a job has taken. */
const takenSchema = z.strictObject({ account: accountSchema, job: z.string() });
type Taken = z.infer<typeof takenSchema>;

/**
 * Dataset zips in a folder of this machine, for this user alone: `<account>-<id>.zip`, with a `….zip.json` that names the
 * job once one has taken it.
 */
export class FolderUploads implements DatasetUploads {
  readonly #trainer: (account: Account) => TrainerService;
  readonly #budget: UploadBudget;
  readonly #temporary = new TemporaryDirectory();
  readonly #directory: () => Promise<string>;
  /** Those without a job by id, the oldest first. */
  readonly #uploads = new Map<string, Upload>();
  readonly #closing = new AbortController();

  /**
   * @param directory keeps what unfinished jobs need beyond the end of this process. Default: a temporary one, gone
   *   after `close`.
   */
  constructor(trainer: (account: Account) => TrainerService, directory?: string, limits: UploadLimits = {}) {
    this.#trainer = trainer;
    this.#budget = new UploadBudget(limits);
    const ready = directory === undefined ? undefined : this.#restore(directory);
    ready?.catch(() => undefined); // whoever uploads is told
    this.#directory = () => ready ?? this.#temporary.path();
  }

  async save({ app_id }: Account, request: Request, limits: BodyLimits): Promise<string> {
    const announced = announcedBytes(request, limits);
    await this.#reserve(app_id, announced);
    let bytes = 0;
    try {
      const id = randomUUID();
      const path = join(await this.#directory(), uploadFileName(app_id, id));
      bytes = await saveDataset(request, path, limits).catch(async (thrown: unknown) => {
        await rm(path, { force: true });
        throw thrown;
      });
      this.#uploads.set(id, { app_id, path, bytes, isTaken: false });
      await this.#removeOldest(app_id, MAX_WAITING_UPLOADS);
      return id;
    } finally {
      this.#budget.add(app_id, bytes - announced);
    }
  }

  async train(
    account: Account,
    id: string,
    request: Omit<TrainingRequest, 'dataset_url'>,
    options: SignalOptions,
  ): Promise<{ id: string }> {
    const upload = this.#uploads.get(id);
    if (upload === undefined || upload.isTaken || upload.app_id !== account.app_id) throw noUpload();
    upload.isTaken = true;
    const dataset_url = pathToFileURL(upload.path).href;
    const trainer = this.#trainer(account);
    try {
      const created = { ...request, dataset_url };
      const job = await outcomeOf(trainer.createTrainingJob(created, { ...options, allowFileUrl: true }));
      this.#uploads.delete(id);
      void this.#keepForJob(upload, { account, job: job.id });
      return job;
    } catch (thrown) {
      upload.isTaken = false;
      throw thrown;
    }
  }

  async erase(app_id: string): Promise<number> {
    let removed = 0;
    while (await this.#removeOldest(app_id, 0)) removed += 1;
    return removed + (await eraseUploads(await this.#directory(), app_id));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#temporary.remove();
  }

  /** Takes up what an earlier process left. @returns the directory. */
  async #restore(directory: string): Promise<string> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const names = await readdir(directory);
    for (const name of names.filter((each) => each.endsWith(ZIP_EXTENSION))) {
      const path = join(directory, name);
      const taken = await readTaken(recordOf(path));
      if (taken === undefined) await removeIfAbandoned(path);
      else await this.#takeUp(path, taken);
    }
    return directory;
  }

  async #takeUp(path: string, taken: Taken): Promise<void> {
    const { app_id } = taken.account;
    const { size: bytes } = await stat(path);
    this.#budget.add(app_id, bytes);
    void this.#removeAfter({ app_id, path, bytes }, taken);
  }

  /** Never rejects. */
  async #keepForJob(upload: Upload, taken: Taken): Promise<void> {
    // Without it the upload is lost with this process, and its job ends in ERROR should it go on then.
    await writeFile(recordOf(upload.path), JSON.stringify(taken), { mode: 0o600 }).catch(() => undefined);
    await this.#removeAfter(upload, taken);
  }

  /** Never rejects. */
  async #removeAfter(upload: Omit<Upload, 'isTaken'>, { account, job }: Taken): Promise<void> {
    try {
      const { signal } = this.#closing;
      signal.throwIfAborted();
      for await (const _ of this.#trainer(account).watch(job, { signal }));
    } catch (thrown) {
      // Where the job can't be watched, it may yet go on; the next process looks again.
      if (!isOrchardError(thrown) || thrown.code !== 'not_found') return;
    }
    await this.#remove(upload).catch(() => undefined);
  }

  /**
   * Counts what is about to come. Where it is too much, uploads of the account that wait for a job are given up, the
   * oldest first. @throws Refusal where that is not enough
   */
  async #reserve(app_id: string, bytes: number): Promise<void> {
    for (;;) {
      const refusal = this.#budget.refusal(app_id, bytes);
      if (refusal === undefined) return this.#budget.add(app_id, bytes);
      if (!(await this.#removeOldest(app_id, 0))) throw refusal;
    }
  }

  /** @returns whether the account had more than so many that wait for a job. */
  async #removeOldest(app_id: string, most: number): Promise<boolean> {
    const waiting = [...this.#uploads].filter(([, each]) => each.app_id === app_id && !each.isTaken);
    const [oldest] = waiting;
    if (oldest === undefined || waiting.length <= most) return false;
    const [id, upload] = oldest;
    this.#uploads.delete(id);
    await this.#remove(upload);
    return true;
  }

  async #remove({ app_id, path, bytes }: Omit<Upload, 'isTaken'>): Promise<void> {
    await remove(path);
    this.#budget.add(app_id, -bytes);
  }
}

async function remove(path: string): Promise<void> {
  await rm(path, { force: true });
  await rm(recordOf(path), { force: true });
}

/** Younger ones may be another process's, which serves the same folder. */
async function removeIfAbandoned(path: string): Promise<void> {
  const { mtimeMs } = await stat(path);
  if (Date.now() - mtimeMs > ABANDONED_AFTER_MS) await remove(path);
}

function recordOf(path: string): string {
  return `${path}.json`;
}

/** @returns undefined where no job has taken the upload. */
async function readTaken(path: string): Promise<Taken | undefined> {
  try {
    return takenSchema.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch {
    return undefined;
  }
}
