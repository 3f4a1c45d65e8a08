import { createHash } from 'node:crypto';
import { cp } from 'node:fs/promises';
import type { ResultAsync } from 'neverthrow';
import * as z from 'zod';
import {
  AbortedError,
  accountSchema,
  callResult,
  implementation,
  type OrchardError,
  requireOptions,
  StorageError,
  validate,
} from '../contract/index.js';
import { taskOf } from '../families/index.js';
import type { ModelLoader } from '../models/index.js';
import { asStorageError, type Storage, withStorageErrors } from '../storage/index.js';
import { contentHash, type FileContent, filesIn } from '../system/index.js';
import type { TrainingHost } from '../training/index.js';
import type { ErasedAccount } from './account-erasure.js';
import { accountsWithJobs, COPIED, idIn, JOBS, recordPages, UPLOADS } from './account-records.js';
import type { JobQueue } from './job-queue.js';
import { JobRepository } from './job-repository.js';
import {
  ModelUses,
  removeUnused,
  type UnusedContext,
  type UnusedModel,
  type UnusedOptions,
  unusedModels,
  unusedSettings,
} from './model-uses.js';
import { Trainer } from './trainer.js';
import { internalsOf, type TrainerOptions, withInternals } from './trainer-options.js';
import { uploadFolder, uploadIn } from './upload-records.js';

/** Options of the functions for operators of a service. */
export interface OperatorOptions {
  /** Where the jobs and models of all accounts live. Stays open. */
  readonly storage: Storage;
}

/** Options of {@link eraseAccount}. */
export interface EraseAccountOptions extends OperatorOptions {
  readonly app_id: string;
  /** The queue of the trainers of this storage, if they have the option `queue`. Stays open. */
  readonly queue?: JobQueue;
}

const giveStorage = "pass a storage, such as fileStorage('./models')";
const storageSchema = implementation<Storage>(['read', 'write', 'list', 'stageFolder', 'openFolder'], giveStorage);
const queueSchema = implementation<JobQueue>(['add', 'cancel'], 'pass the job queue of the trainers').optional();
const eraseSchema = z.lazy(() =>
  z.strictObject({ storage: storageSchema, app_id: accountSchema.shape.app_id, queue: queueSchema }),
);
const unusedOfAllSchema = z.strictObject({ storage: storageSchema, days: z.number().optional() });
const copySchema = z.strictObject({ from: storageSchema, to: storageSchema, queue: queueSchema });

/**
 * Removes everything that a storage has of one account, as `eraseAccount` of its trainer does, even while trainers of
 * the account use the storage, in this process or another. They notice within seconds that their jobs are gone. Revoke
 * the account's keys first, or it may create new jobs. Fails with a ValidationError or a StorageError; then call it
 * again.
 */
export function eraseAccount(options: EraseAccountOptions): ResultAsync<ErasedAccount, OrchardError> {
  return called('erasing an account', async () => {
    const { storage, queue, app_id } = validate(eraseSchema, requireOptions(options, '`{ storage, app_id }`'));
    const idle: TrainerOptions = {
      ...{ storage, account: { app_id, tier: 'pro' }, host: idleHost, modelLoader: idleLoader },
      ...(queue !== undefined && { queue }),
    };
    const trainer = new Trainer(withInternals(idle, internalsOf(options)));
    const erased = await trainer.eraseAccount(app_id);
    await trainer.close();
    if (erased.isErr()) throw erased.error;
    return erased.value;
  });
}

/**
 * Copies everything of a storage into an empty one, such as a directory of `fileStorage` into the database of
 * `postgresStorage`, and compares both by hash afterwards. First stop the processes that use it.
 * Fails with a StorageError; then empty the copy.
 */
export function copyStorage(options: CopyStorageOptions): ResultAsync<CopiedStorage, OrchardError> {
  return called('copying a storage', () => copyAll(options));
}

/**
 * The unused models of all accounts, as `Trainer.listUnusedModels` finds those of one. Models that a name needs are
 * left out.
 */
export function listUnusedModels(
  options: OperatorOptions & UnusedOptions,
): ResultAsync<readonly UnusedModel[], OrchardError> {
  return called('listing unused models', () => ofAllAccounts(options, unusedModels));
}

/** Deletes the unused models of all accounts. Models that a name needs are left out. @returns the deleted models. */
export function removeUnusedModels(
  options: OperatorOptions & UnusedOptions,
): ResultAsync<readonly UnusedModel[], OrchardError> {
  return called('removing unused models', () => ofAllAccounts(options, removeUnused));
}

async function ofAllAccounts(
  options: OperatorOptions & UnusedOptions,
  work: (context: UnusedContext, days: number) => Promise<readonly UnusedModel[]>,
): Promise<readonly UnusedModel[]> {
  const { storage: given, ...unused } = validate(unusedOfAllSchema, requireOptions(options, '`{ storage, days }`'));
  const storage = withStorageErrors(given);
  const { clock } = internalsOf(options);
  const { days } = unusedSettings(unused);
  const found: UnusedModel[] = [];
  for await (const app_id of accountsWithJobs(storage)) {
    const jobs = new JobRepository(storage, app_id, taskOf);
    const uses = new ModelUses(storage, app_id, () => clock.now());
    found.push(...(await work({ app_id, storage, jobs, uses, clock }, days)));
  }
  return found;
}

function called<T>(doing: string, work: () => Promise<T>): ResultAsync<T, OrchardError> {
  return callResult(work(), doing);
}

/** Trains nothing: a job that waits may get here before it is cancelled. */
const idleHost: TrainingHost = {
  run: ({ id }, { signal }) => untilAborted(`training job ${id}`, signal),
  close: async () => undefined,
};
const idleLoader: ModelLoader = {
  specificationVersion: 1,
  load: (name, { signal } = {}) => untilAborted(`loading ${name}`, signal),
};

function untilAborted(doing: string, signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    const abort = () => reject(new AbortedError(doing));
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort, { once: true });
  });
}

const WRITTEN_TOGETHER = 16;

/** Options of {@link copyStorage}. */
export interface CopyStorageOptions {
  /** The storage to copy. Nothing may write to it during the copy. Stays open. */
  readonly from: Storage;
  /** The target, which must be empty. Stays open. */
  readonly to: Storage;
  /**
   * The queue of the trainers that will use the copy, if they have the option `queue`. The unfinished jobs are added to
   * it.
   */
  readonly queue?: JobQueue;
}

/** What was copied; both storages have the same. */
export interface CopiedStorage {
  readonly accounts: number;
  readonly records: number;
  /** Number of jobs, each with its model. */
  readonly jobs: number;
  /** Jobs that have not ended. They continue with the copy. */
  readonly unfinished: number;
  /** Unfinished jobs whose dataset is a file of this machine: they need the file on the machine that trains them. */
  readonly local_datasets: number;
  /** Folders of models, uploads and running training jobs. */
  readonly folders: number;
  readonly files: number;
  readonly bytes: number;
  /** One hash of all records and one of all files; they are the same in both storages. */
  readonly sha256: { readonly records: string; readonly files: string };
}

/** Copies checkpoints of running jobs, too. @throws StorageError if the target isn't empty, or the two differ in the end. */
async function copyAll(options: CopyStorageOptions): Promise<CopiedStorage> {
  const { queue, ...storages } = validate(copySchema, requireOptions(options, '`{ from, to }`'));
  const [from, to] = [withStorageErrors(storages.from), withStorageErrors(storages.to)];
  await requireEmpty(to);
  const copied = new Map<string, readonly FileContent[]>();
  for await (const folder of foldersOf(from)) {
    const files = await copyFolder(from, to, folder);
    if (files !== undefined) copied.set(`${folder.which} ${folder.key}`, files);
  }
  for (const collection of COPIED) {
    for await (const records of recordPages(from, collection)) {
      for (let next = 0; next < records.length; next += WRITTEN_TOGETHER) {
        const some = records.slice(next, next + WRITTEN_TOGETHER);
        await Promise.all(some.map(({ key, value }) => to.write(collection, key, value, undefined)));
      }
    }
  }
  const [source, copy] = [await countsOf(from), await countsOf(to)];
  if (source.sha256 !== copy.sha256) {
    throw new StorageError(
      `the copy (${copy.records} records) differs from the storage (${source.records} records), so something wrote to the storage during the copy; stop it, empty the copy, and copy again`,
    );
  }
  const unfinished = await queueUnfinished(to, queue);
  const files = [...copied.values()].flat();
  const hashes = [...copied].map(([name, files]) => `${name} ${contentHash(files)}`);
  return {
    ...source,
    ...unfinished,
    folders: copied.size,
    files: files.length,
    bytes: files.reduce((sum, { size }) => sum + size, 0),
    sha256: {
      records: source.sha256,
      files: createHash('sha256').update(hashes.sort().join('\n')).digest('hex'),
    },
  };
}

async function requireEmpty(storage: Storage): Promise<void> {
  for (const collection of COPIED) {
    const [key] = await storage.listKeys(collection, { limit: 1 });
    if (key === undefined) continue;
    throw new StorageError(
      `the target storage already has records, such as ${collection}/${key}; copy into an empty storage`,
    );
  }
}

interface Folder {
  readonly key: string;
  readonly which: 'published' | 'staged';
}

const runningSchema = z.object({ status: z.literal('RUNNING') });

async function* foldersOf(storage: Storage): AsyncGenerator<Folder, void, undefined> {
  for await (const records of recordPages(storage, JOBS)) {
    for (const { key, value } of records) {
      yield { key: idIn(key), which: 'published' };
      if (runningSchema.safeParse(value).success) yield { key: idIn(key), which: 'staged' };
    }
  }
  for await (const records of recordPages(storage, UPLOADS)) {
    for (const { key } of records) yield { key: uploadFolder(idIn(key)), which: 'published' };
  }
}

/** Copies a folder and reads the copy again. @returns the files; undefined if there is no such folder. */
async function copyFolder(from: Storage, to: Storage, folder: Folder): Promise<readonly FileContent[] | undefined> {
  const { key, which } = folder;
  const source = await directoryOf(from, folder);
  if (source === undefined) return undefined;
  const files = await filesIn(source);
  if (which === 'staged' && files.length === 0) return undefined;
  await cp(source, await to.stageFolder(key), { recursive: true, preserveTimestamps: true });
  await (which === 'published' ? to.publishFolder(key) : to.saveStaged?.(key));
  const found = await contentOf(to, folder);
  if (found !== undefined && contentHash(found) === contentHash(files)) return files;
  throw new StorageError(`the copy of folder ${key} differs from the original; empty the copy, and copy again`);
}

async function contentOf(storage: Storage, folder: Folder): Promise<readonly FileContent[] | undefined> {
  if (storage.readContent !== undefined) return storage.readContent(folder.key, folder.which);
  const directory = await directoryOf(storage, folder);
  return directory === undefined ? undefined : filesIn(directory);
}

function directoryOf(storage: Storage, { key, which }: Folder): Promise<string | undefined> {
  return which === 'published' ? storage.openFolder(key) : storage.stageFolder(key);
}

async function countsOf(storage: Storage) {
  const hash = createHash('sha256');
  const accounts = new Set<string>();
  let [records, jobs] = [0, 0];
  for (const collection of COPIED) {
    for await (const page of recordPages(storage, collection)) {
      for (const { key, value } of page) {
        hash.update(`${JSON.stringify([collection, key, value])}\n`);
        accounts.add(key.split('/', 1)[0] ?? '');
      }
      records += page.length;
      if (collection === JOBS) jobs += page.length;
    }
  }
  return { accounts: accounts.size, records, jobs, sha256: hash.digest('hex') };
}

async function queueUnfinished(to: Storage, queue: JobQueue | undefined) {
  let [unfinished, local_datasets] = [0, 0];
  for await (const app_id of accountsWithJobs(to)) {
    for (const { id, dataset_url } of await new JobRepository(to, app_id).unfinished()) {
      if (queue !== undefined) await asStorageError(() => queue.add({ app_id, id }));
      unfinished += 1;
      if (dataset_url.startsWith('file:') && uploadIn(dataset_url) === undefined) local_datasets += 1;
    }
  }
  return { unfinished, local_datasets };
}
