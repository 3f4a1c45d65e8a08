import { createHash } from 'node:crypto';
import { cp } from 'node:fs/promises';
import * as z from 'zod';
import { StorageError } from '../contract/index.js';
import { asStorageError, type Storage, withStorageErrors } from '../storage/index.js';
import { contentHash, type FileContent, filesIn } from '../system/index.js';
import { accountsWithJobs, COPIED, idIn, JOBS, recordPages, UPLOADS } from './account-records.js';
import type { JobQueue } from './job-queue.js';
import { JobRepository } from './job-repository.js';
import { uploadFolder, uploadIn } from './upload-records.js';

const WRITTEN_TOGETHER = 16;

export interface CopyStorageOptions {
  /** The storage to copy; nothing may work on it meanwhile. Stays open. */
  readonly from: Storage;
  /** The target, which must be empty. Stays open. */
  readonly to: Storage;
  /** The queue of the trainers that will work on the copy, if they are given one: the unfinished jobs are added to it. */
  readonly queue?: JobQueue;
}

/** What was copied, and is the same on both sides. */
export interface CopiedStorage {
  readonly accounts: number;
  readonly records: number;
  /** Jobs, and so models, among the records. */
  readonly jobs: number;
  /** Jobs that have not ended, and go on. */
  readonly unfinished: number;
  /** Unfinished jobs whose dataset is a file of this machine: they need the file on the machine that trains them. */
  readonly local_datasets: number;
  /** Folders of models and uploads, and of trainings under way. */
  readonly folders: number;
  readonly files: number;
  readonly bytes: number;
  /** One hash of all records, and one of all files, as they are on both sides. */
  readonly sha256: { readonly records: string; readonly files: string };
}

/**
 * Copies all records and folders of a storage, checkpoints of running jobs included, and then reads both sides again to
 * compare them.
 * @throws StorageError if the target isn't empty, or the two differ in the end.
 */
export async function copyStorage({ queue, ...storages }: CopyStorageOptions): Promise<CopiedStorage> {
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
      `the copy has ${copy.records} records and the storage ${source.records}, or they differ: something worked on it meanwhile; stop that, empty the copy, and copy again`,
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
      `the storage to copy to has records already, such as ${collection}/${key}; copy into one that is empty`,
    );
  }
}

interface Folder {
  readonly key: string;
  readonly which: 'published' | 'staged';
}

const runningSchema = z.object({ status: z.literal('RUNNING') });

/** The folders that jobs and uploads may have. */
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
  throw new StorageError(`folder ${key} is not the same in the copy; empty the copy, and copy again`);
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

/** Adds the jobs that have not ended to the queue. */
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
