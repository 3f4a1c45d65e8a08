import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { clearInterval, setInterval } from 'node:timers';
import { pathToFileURL } from 'node:url';
import * as z from 'zod';
import {
  type Account,
  absentable,
  DatasetError,
  DownloadError,
  describeDatasetProblem,
  modelTypes,
  orThrow,
  type SignalOptions,
  type TrainingRequest,
} from '../contract/index.js';
import { describeBytes, fileKind, ZIP } from '../datasets/index.js';
import { type ArchiveTask, classificationTypes, makeArchiveWithin, sequenceTypes } from '../families/index.js';
import {
  hasEnded,
  JobRepository,
  type StoredUpload,
  type TrainerOptions,
  UPLOADED_ZIP,
  UploadRecords,
  uploadFolder,
  uploadIn,
  uploadUrl,
} from '../jobs/index.js';
import { KeyedQueue, type Storage, withStorageErrors } from '../storage/index.js';
import { temporaryRoot } from '../system/index.js';
import { createTrainingHost, type TrainingHost } from '../training/index.js';
import { type BodyLimits, saveBody } from './body.js';
import { forClients, invalid, Refusal } from './refusal.js';
import type { TrainerService } from './services.js';

/** Disk space for uploads, including those that are arriving. */
export interface UploadLimits {
  /** Per account, in bytes. Default 1 GiB. */
  readonly maxAccountBytes?: number;
  /** In total, in bytes. Default 8 GiB. */
  readonly maxBytes?: number;
}

/** Uploads of an account that may wait for a job; one more removes the oldest. */
const MAX_WAITING_UPLOADS = 3;
/** An upload without a job is removed after this time. */
const ABANDONED_AFTER_MS = 60 * 60_000;
/** An upload is removed after this time if the process died while it created the job. */
const ORPHANED_AFTER_MS = 24 * 60 * 60_000;
const SWEEP_MS = 60_000;
/** As long as Node's server gives a request. */
export const UPLOAD_TIMEOUT_MS = 5 * 60_000;

/**
 * Uploaded datasets, stored as zips: any process can create the job, and any machine can train on them. Each upload is
 * for one job of its account and is removed when that job has ended. The limits apply to all processes together; if two
 * uploads together exceed a limit, both may be refused.
 */
export class DatasetUploads {
  readonly #storage: Storage;
  readonly #records: UploadRecords;
  readonly #trainer: (account: Account) => TrainerService;
  readonly #limits: UploadLimits;
  readonly #timer: NodeJS.Timeout;
  readonly #rows: Turns;
  #sweeping: Promise<void> | undefined;

  /** @param rows when files of rows are read */
  constructor(
    storage: Storage,
    trainer: (account: Account) => TrainerService,
    limits: UploadLimits = {},
    rows = new Turns(MAX_ROWS_THREADS),
  ) {
    this.#storage = storage;
    this.#records = new UploadRecords(storage);
    this.#trainer = trainer;
    this.#limits = limits;
    this.#rows = rows;
    this.#timer = setInterval(() => void this.sweep().catch(() => undefined), SWEEP_MS).unref();
  }

  /** Stores the body of a request: a zip, or a file of rows. @returns the id of the upload. @throws Refusal */
  async save({ app_id }: Account, request: Request, limits: BodyLimits): Promise<string> {
    const id = randomUUID();
    const arriving = await this.#reserve(app_id, id, announcedBytes(request, limits));
    try {
      const directory = await this.#storage.stageFolder(uploadFolder(id));
      const inTurn: InTurn = (work) => this.#rows.run(app_id, work);
      const bytes = await saveDataset(request, join(directory, UPLOADED_ZIP), limits, inTurn);
      await this.#storage.publishFolder(uploadFolder(id));
      // Without a record, the account was erased in the meantime.
      if (!(await this.#records.change(arriving, { state: 'waiting', bytes }))) throw noUpload();
    } catch (thrown) {
      await this.#records.remove(app_id, id).catch(() => undefined); // otherwise the sweep does
      throw thrown;
    }
    await this.#removeOldest(app_id, MAX_WAITING_UPLOADS);
    return id;
  }

  /**
   * Creates a job that trains on an upload. If the job is not accepted, the upload can be used again.
   * @throws Refusal if there is no such upload, or a job has it. @throws errors of the trainer
   */
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
    try {
      const trainer = this.#trainer(account);
      const job = await orThrow(trainer.createTrainingJob(created, { ...options, allowFileUrl: true }));
      await this.#records.change(taken, { job: job.id }).catch(() => undefined);
      return job;
    } catch (thrown) {
      await this.#records.change(taken, { state: 'waiting' }).catch(() => undefined);
      throw thrown;
    }
  }

  /** Idempotent. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#sweeping?.catch(() => undefined); // the caller of `sweep` gets its error
  }

  /** Removes the uploads whose jobs have ended, and abandoned ones. @throws StorageError */
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
    if (job === null) return now - at > (state === 'taken' ? ORPHANED_AFTER_MS : ABANDONED_AFTER_MS);
    const found = await new JobRepository(this.#storage, app_id).find(job);
    return found === undefined || hasEnded(found.status);
  }

  /**
   * Records an upload that is about to arrive. If space is short, removes uploads that are over, then those of the account
   * that wait for a job, the oldest first. @throws Refusal if that is not enough
   */
  async #reserve(app_id: string, id: string, bytes: number): Promise<StoredUpload> {
    const upload = { state: 'arriving', bytes, at: Date.now(), job: null } as const;
    const arriving = await this.#records.add(app_id, id, upload);
    try {
      let problem = await this.#spaceProblem(app_id);
      if (problem !== undefined) await this.sweep();
      while (problem !== undefined) {
        problem = await this.#spaceProblem(app_id);
        if (problem !== undefined && !(await this.#removeOldest(app_id, 0))) throw problem;
      }
      return arriving;
    } catch (thrown) {
      await this.#records.remove(app_id, id).catch(() => undefined);
      throw thrown;
    }
  }

  async #spaceProblem(app_id: string): Promise<Refusal | undefined> {
    const { maxAccountBytes = 2 ** 30, maxBytes = 8 * 2 ** 30 } = this.#limits;
    const uploads = await this.#records.all();
    const sum = (some: readonly StoredUpload[]) => some.reduce((bytes, each) => bytes + each.upload.bytes, 0);
    if (sum(uploads.filter((each) => each.app_id === app_id)) > maxAccountBytes) {
      const most = describeBytes(maxAccountBytes);
      const msg = `the uploads of this account would take more than ${most}; wait until a job that uses one has ended`;
      return new Refusal(429, [{ loc: ['body'], msg, type: 'uploads' }]);
    }
    if (sum(uploads) <= maxBytes) return undefined;
    const msg = 'the service has no space for another upload; try again later, or give a dataset_url';
    return new Refusal(503, [{ loc: ['body'], msg, type: 'uploads' }], { headers: { 'retry-after': '60' } });
  }

  /** Removes the oldest upload that waits for a job. @returns false if the account has no more than `most` */
  async #removeOldest(app_id: string, most: number): Promise<boolean> {
    const all = await this.#records.all(app_id);
    const waiting = all.filter(({ upload }) => upload.state === 'waiting');
    const [oldest] = waiting;
    if (oldest === undefined || waiting.length <= most) return false;
    // If a job takes it at this moment, it stays.
    const taken = await this.#records.change(oldest, { state: 'taken' });
    if (taken !== undefined) await this.#records.remove(app_id, oldest.id);
    return true;
  }
}

function announcedBytes({ headers }: Request, { maxBodyBytes }: BodyLimits): number {
  const announced = headers.get('content-length') ?? '';
  return /^\d+$/.test(announced) ? Math.min(Number(announced), maxBodyBytes) : maxBodyBytes;
}

/** Writes a zip as it is, a file of rows as a zip made from it. @returns the bytes of the zip. @throws Refusal */
async function saveDataset(request: Request, path: string, limits: BodyLimits, inTurn: InTurn): Promise<number> {
  if (hasRows(request)) await saveRows(request, path, limits, inTurn);
  else await saveBody(request, path, limits);
  const kind = fileKind(path);
  if (kind === ZIP) return (await stat(path)).size;
  throw new Refusal(422, [{ loc: ['body'], msg: `this is ${kind}; send a zip`, type: 'not_a_zip' }]);
}

function noUpload(): Refusal {
  const msg = 'the upload does not exist, or a job has used it; upload the dataset again';
  return new Refusal(422, [{ loc: ['body', 'upload'], msg, type: 'upload' }]);
}

/** The name of a file of rows, percent-encoded, and the type of model that it is for. */
const FILE_NAME_HEADER = 'x-file-name';
const MODEL_TYPE_HEADER = 'x-model-type';
/** The columns with other names than usual, by what they hold: percent-encoded JSON. */
const COLUMNS_HEADER = 'x-columns';

/** A file of rows is read into memory as a whole; larger datasets fit in a zip. */
const MAX_ROWS_BYTES = 16 * 2 ** 20;
/** What the objects of the thread that reads it may take: somewhat more than what the shortest rows of 16 MiB need. */
const ROWS_MEMORY_BYTES = 1.5 * 2 ** 30;
/** How long reading and checking it may take. */
const ROWS_TIMEOUT_MS = 120_000;
/** Threads that read files of rows at a time. */
export const MAX_ROWS_THREADS = 2;
/** UTF-16 code units of a file name. */
const MAX_NAME = 200;

const TABLES = ['.csv', '.tsv', '.jsonl', '.ndjson', '.json'];
const COLUMNS = ['.conll', '.txt', '.tsv', '.bio', '.iob'];

export function hasRows({ headers }: Request): boolean {
  return (headers.get('content-type') ?? '').split(';')[0]?.trim() === 'text/plain';
}

/**
 * Makes a dataset zip from the body of a request: CSV, TSV or JSON Lines with texts or questions, or CoNLL columns.
 * @throws Refusal 422 with every problem of the file, under the client's name for it
 */
async function saveRows(request: Request, path: string, limits: BodyLimits, inTurn: InTurn): Promise<void> {
  const name = fileNameOf(request);
  const type = request.headers.get(MODEL_TYPE_HEADER) ?? '';
  const taskOf = taskFor(type, extname(name).toLowerCase());
  const columns = columnsOf(request);
  const folder = await mkdtemp(join(await temporaryRoot(), 'orchard-rows-'));
  try {
    await mkdir(join(folder, 'rows'));
    const source = join(folder, 'rows', name);
    const maxBodyBytes = Math.min(MAX_ROWS_BYTES, limits.maxBodyBytes);
    await saveBody(request, source, { ...limits, maxBodyBytes });
    const task = taskOf({ name: 'upload', rows: { path: source, ...columns } }, path);
    const within = { signal: request.signal, memoryLimit: ROWS_MEMORY_BYTES, timeoutMs: ROWS_TIMEOUT_MS };
    await inTurn(() => makeArchiveWithin(task, within)).catch((thrown: unknown) => {
      throw thrown instanceof DatasetError ? refusalOfRows(thrown) : thrown;
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Runs some work when it is an account's turn. */
type InTurn = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** Does long work for accounts a few at a time, and one at a time for each account; others wait. */
export class Turns {
  readonly #most: number;
  readonly #ofAccounts = new KeyedQueue();
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(most: number) {
    this.#most = most;
  }

  run<Result>(app_id: string, work: () => Promise<Result>): Promise<Result> {
    return this.#ofAccounts.run(app_id, async () => {
      // Each account waits here once, so that first come, first served is fair.
      if (this.#running >= this.#most) await new Promise<void>((resolve) => this.#waiting.push(resolve));
      else this.#running += 1;
      try {
        return await work();
      } finally {
        const next = this.#waiting.shift();
        if (next) next();
        else this.#running -= 1;
      }
    });
  }
}

interface RowColumns {
  readonly textColumn?: string | undefined;
  readonly labelColumn?: string | undefined;
  readonly questionColumn?: string | undefined;
  readonly contextColumn?: string | undefined;
}

const column = absentable(z.string());
const columnsSchema = z.strictObject({ text: column, label: column, question: column, passage: column });

/** @throws Refusal */
function columnsOf({ headers }: Request): RowColumns {
  const header = headers.get(COLUMNS_HEADER);
  if (header === null) return {};
  try {
    const { text, label, question, passage } = columnsSchema.parse(JSON.parse(decodeURIComponent(header)));
    return { textColumn: text, labelColumn: label, questionColumn: question, contextColumn: passage };
  } catch {
    const msg = 'give percent-encoded JSON, such as {"text": "Message", "label": "Topic"}';
    throw invalid([{ loc: ['header', COLUMNS_HEADER], msg, type: 'columns' }]);
  }
}

interface ArchiveOptions {
  readonly name: string;
  readonly rows: { readonly path: string } & RowColumns;
}

/** @throws Refusal */
function taskFor(type: string, extension: string): (options: ArchiveOptions, outputPath: string) => ArchiveTask {
  const classification = classificationTypes.find((each) => each === type);
  const isSequence = sequenceTypes.some((each) => each === type);
  if (classification === undefined && !isSequence && type !== 'question-answering') {
    const found = type === '' ? 'the header is missing' : `${type} is not a type of model`;
    const msg = `${found}; give one of ${modelTypes.join(', ')}`;
    throw invalid([{ loc: ['header', MODEL_TYPE_HEADER], msg, type: 'model_type' }]);
  }
  const known = isSequence ? COLUMNS : TABLES;
  if (!known.includes(extension)) {
    const found = extension === '' ? 'no extension' : `the extension ${extension}`;
    const msg = `a file for this type of model is a zip or has one of the extensions ${known.join(', ')}; this one has ${found}`;
    throw invalid([{ loc: ['body'], msg, type: 'file_type' }]);
  }
  return (options, outputPath) => {
    if (isSequence) return { kind: 'sequence', options, outputPath };
    if (classification === undefined) return { kind: 'retrieval', options, outputPath };
    return { kind: 'classification', options: { ...options, type: classification }, outputPath };
  };
}

/** The client's name of the file, as a valid name here. @throws Refusal */
export function fileNameOf({ headers }: Request): string {
  let name = headers.get(FILE_NAME_HEADER) ?? '';
  try {
    name = decodeURIComponent(name);
  } catch {
    // not encoded
  }
  name = name.replace(/[/\\\p{Cc}]/gu, '_').slice(-MAX_NAME);
  if (!/^\.*$/.test(name)) return name;
  const msg = 'give the name of the file, percent-encoded';
  throw invalid([{ loc: ['header', FILE_NAME_HEADER], msg, type: 'missing' }]);
}

export function refusalOfRows(error: DatasetError): Refusal {
  const listed = error.problems.map((problem) => `in ${forClients(describeDatasetProblem(problem))}`);
  const unlisted = error.total - listed.length;
  const all = unlisted > 0 ? [...listed, `and ${unlisted.toLocaleString('en-US')} more`] : listed;
  return new Refusal(
    422,
    all.map((msg) => ({ loc: ['body'], msg, type: 'dataset' })),
  );
}

/**
 * The training host that these options of a trainer describe, which also trains on uploads: it opens them on its own
 * machine. Close it after the trainers; a host from the options stays open.
 */
export function uploadReadingHost(
  { host: given, isolation = 'worker', executor }: Partial<TrainerOptions>,
  storage: Storage,
): TrainingHost {
  const host = given ?? createTrainingHost(isolation, { executor });
  return {
    async run(spec, options) {
      const url = 'url' in spec.dataset ? spec.dataset.url : '';
      const id = uploadIn(url);
      if (id === undefined) return host.run(spec, options);
      const folder = await withStorageErrors(storage).openFolder(uploadFolder(id));
      if (folder === undefined) throw new DownloadError(url, 'the upload no longer exists');
      const dataset = { url: pathToFileURL(join(folder, UPLOADED_ZIP)).href };
      return host.run({ ...spec, dataset, allowFileUrls: true }, options);
    },
    close: async () => {
      if (given === undefined) await host.close();
    },
  };
}
