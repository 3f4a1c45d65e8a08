import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as z from 'zod';
import { type Account, accountSchema, type TrainingRequest } from '../contract/index.js';
import { fileKind, ZIP } from '../datasets/index.js';
import { isOrchardError } from '../errors.js';
import { TemporaryDirectory } from '../files/index.js';
import type { SignalOptions } from '../trainer/index.js';
import type { BodyLimits } from './read-body.js';
import { Refusal } from './refusal.js';
import { saveBody } from './save-body.js';
import { outcomeOf, type TrainerService } from './services.js';
import { eraseUploads, uploadFileName, ZIP_EXTENSION } from './upload-files.js';

/** How many uploads of an account may wait for a job; one more removes the oldest. */
export const MAX_WAITING_UPLOADS = 3;
/** What a process has left that took no job with it is removed by a later one. */
const ABANDONED_AFTER_MS = 60 * 60_000;

interface Upload {
  readonly app_id: string;
  readonly path: string;
  /** A job is being made of it. */
  isTaken: boolean;
}

/** Kept beside an upload that a job has taken. */
const takenSchema = z.strictObject({ account: accountSchema, job: z.string() });
type Taken = z.infer<typeof takenSchema>;

/**
 * Dataset zips that accounts have sent: `<account>-<id>.zip` in a folder for this user alone, with a `….zip.json` that names
 * the job once one has taken it. Each is for one job of its account, and is removed when that job has ended.
 */
export class DatasetUploads {
  readonly #trainer: (account: Account) => TrainerService;
  readonly #temporary = new TemporaryDirectory();
  readonly #directory: () => Promise<string>;
  /** Those without a job by id, the oldest first. */
  readonly #uploads = new Map<string, Upload>();
  readonly #closing = new AbortController();

  /**
   * @param directory keeps what unfinished jobs need beyond the end of this process. Default: a temporary one, gone
   *   after `close`.
   */
  constructor(trainer: (account: Account) => TrainerService, directory?: string) {
    this.#trainer = trainer;
    const ready = directory === undefined ? undefined : this.#restore(directory);
    ready?.catch(() => undefined); // whoever uploads is told
    this.#directory = () => ready ?? this.#temporary.path();
  }

  /** Keeps the body of a request, which must be a zip. @returns what to name it by. @throws Refusal */
  async save({ app_id }: Account, request: Request, limits: BodyLimits): Promise<string> {
    const id = randomUUID();
    const path = join(await this.#directory(), uploadFileName(app_id, id));
    await saveBody(request, path, limits);
    const kind = fileKind(path);
    if (kind !== ZIP) {
      await rm(path);
      throw new Refusal(422, [{ loc: ['body'], msg: `this is ${kind}; send a zip`, type: 'not_a_zip' }]);
    }
    this.#uploads.set(id, { app_id, path, isTaken: false });
    await this.#removeOldest(app_id);
    return id;
  }

  /**
   * Has the account's trainer train on an upload. One that isn't accepted leaves the upload for another try.
   * @throws Refusal where there is none, or a job has it. @throws what the trainer fails with
   */
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
      void this.#keepForJob(upload.path, { account, job: job.id });
      return job;
    } catch (thrown) {
      upload.isTaken = false;
      throw thrown;
    }
  }

  /** Removes all that an account has sent; its jobs must be gone by then. @returns how many zips. */
  async erase(app_id: string): Promise<number> {
    for (const [id, upload] of this.#uploads) if (upload.app_id === app_id) this.#uploads.delete(id);
    return eraseUploads(await this.#directory(), app_id);
  }

  /** Call it when the trainers are closed: no job reads an upload any more. Idempotent. */
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
      else void this.#removeAfter(path, taken);
    }
    return directory;
  }

  /** Never rejects. */
  async #keepForJob(path: string, taken: Taken): Promise<void> {
    // Without it the upload is lost with this process, and its job ends in ERROR should it go on then.
    await writeFile(recordOf(path), JSON.stringify(taken), { mode: 0o600 }).catch(() => undefined);
    await this.#removeAfter(path, taken);
  }

  /** Never rejects. */
  async #removeAfter(path: string, { account, job }: Taken): Promise<void> {
    try {
      const { signal } = this.#closing;
      signal.throwIfAborted();
      for await (const _ of this.#trainer(account).watch(job, { signal }));
    } catch (thrown) {
      // Where the job can't be watched, it may yet go on; the next process looks again.
      if (!isOrchardError(thrown) || thrown.code !== 'not_found') return;
    }
    await remove(path).catch(() => undefined);
  }

  async #removeOldest(app_id: string): Promise<void> {
    const waiting = [...this.#uploads].filter(([, each]) => each.app_id === app_id && !each.isTaken);
    const [oldest] = waiting;
    if (oldest === undefined || waiting.length <= MAX_WAITING_UPLOADS) return;
    const [id, { path }] = oldest;
    this.#uploads.delete(id);
    await remove(path);
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

function noUpload(): Refusal {
  const msg = 'there is no such upload, or a job has taken it; upload the zip again';
  return new Refusal(422, [{ loc: ['body', 'upload'], msg, type: 'upload' }]);
}
