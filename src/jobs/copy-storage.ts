import { createHash } from 'node:crypto';
import { cp } from 'node:fs/promises';
import * as z from 'zod';
import { StorageError } from '../errors.js';
import { contentHash, type FileContent, filesIn } from '../files/index.js';
import type { Storage, StoredRecord } from '../storage/index.js';
import { accountsWithJobs, idIn } from './account-records.js';
import { COPIED, JOBS, UPLOADS } from './collections.js';
import type { JobQueue } from './job-queue.js';
import { JobRepository } from './job-repository.js';
import { stored } from './stored.js';
import { uploadFolder, uploadIn } from './upload-records.js';

const LISTED_TOGETHER = 1000;
const WRITTEN_TOGETHER = 16;

export interface CopyStorageOptions {
  /** What is copied; nothing may work on it meanwhile. Stays open. */
  readonly from: Storage;
  /** Where to; nothing may be there yet. Stays open. */
  readonly to: Storage;
  /** That of the trainers that will work on the copy, if they are given one: it is told of the jobs that go on. */
  readonly queue?: JobQueue;
}

/** What was copied, and found to be the same on both sides. */
export interface CopiedStorage {
  readonly accounts: number;
  readonly records: number;
  /** Jobs, and so models, among the records. */
  readonly jobs: number;
  /** Jobs that have not ended, and go on. */
  readonly unfinished: number;
  /** Those of them whose dataset is a file of this machine: they need it wherever they are trained. */
  readonly local_datasets: number;
  /** Folders of models and uploads, and of trainings under way. */
  readonly folders: number;
  readonly files: number;
  readonly bytes: number;
  /** One hash of all records, and one of all files, as they are on both sides. */
  readonly sha256: { readonly records: string; readonly files: string };
}

/** A folder that is copied. */
interface Folder {
  readonly key: string;
  readonly which: 'published' | 'staged';
}

const runningSchema = z.object({ status: z.literal('RUNNING') });

/**
 * Copies all records and folders of a storage, checkpoints of running jobs included, and then reads both sides again to
 * compare them.
 * @throws StorageError where the target isn't empty, or the two differ in the end.
 */
export async function copyStorage({ from, to, queue }: CopyStorageOptions): Promise<CopiedStorage> {
  await requireEmpty(to);
  const copied = new Map<string, readonly FileContent[]>();
  for await (const folder of foldersOf(from)) {
    const files = await copyFolder(from, to, folder);
    if (files !== undefined) copied.set(`${folder.which} ${folder.key}`, files);
    if (files !== undefined) await checkFolder(to, folder, files);
  }
  for await (const { collection, records } of pagesOf(from)) await writeAll(to, collection, records);
  const counts = await compareRecords(from, to);
  const going = await goOn(to, queue);
  const files = [...copied.values()].flat();
  const hashes = [...copied].map(([name, files]) => `${name} ${contentHash(files)}`);
  return {
    ...counts,
    ...going,
    folders: copied.size,
    files: files.length,
    bytes: files.reduce((sum, { size }) => sum + size, 0),
    sha256: {
      records: counts.sha256,
      files: createHash('sha256').update(hashes.sort().join('\n')).digest('hex'),
    },
  };
}

async function requireEmpty(storage: Storage): Promise<void> {
  for (const collection of COPIED) {
    const [key] = await stored(() => storage.listKeys(collection, { limit: 1 }));
    if (key === undefined) continue;
    throw new StorageError(
      `the storage to copy to has records already, such as ${collection}/${key}; copy into one that is empty`,
    );
  }
}

/** All records, in an order of their own, some at a time. */
async function* pagesOf(storage: Storage) {
  for (const collection of COPIED) {
    for (let after: string | undefined; ; ) {
      const listing = { limit: LISTED_TOGETHER, ...(after !== undefined && { after }) };
      const records = await stored(() => storage.list(collection, listing));
      yield { collection, records };
      if (records.length < LISTED_TOGETHER) break;
      after = records.at(-1)?.key;
    }
  }
}

/** Those that may be there. */
async function* foldersOf(storage: Storage): AsyncGenerator<Folder, void, undefined> {
  for await (const { collection, records } of pagesOf(storage)) {
    for (const { key, value } of records) {
      if (collection === JOBS) yield { key: idIn(key), which: 'published' };
      if (collection === JOBS && runningSchema.safeParse(value).success) {
        yield { key: idIn(key), which: 'staged' };
      }
      if (collection === UPLOADS) yield { key: uploadFolder(idIn(key)), which: 'published' };
    }
  }
}

/** @returns the files; undefined if there is no such folder. */
async function copyFolder(
  from: Storage,
  to: Storage,
  { key, which }: Folder,
): Promise<readonly FileContent[] | undefined> {
  const source = await stored(() => (which === 'published' ? from.openFolder(key) : from.stageFolder(key)));
  if (source === undefined) return undefined;
  const files = await filesIn(source);
  if (which === 'staged' && files.length === 0) return undefined;
  const target = await stored(() => to.stageFolder(key));
  await cp(source, target, { recursive: true, preserveTimestamps: true });
  await stored(async () => (which === 'published' ? to.publishFolder(key) : to.saveStaged?.(key)));
  return files;
}

async function checkFolder(
  storage: Storage,
  { key, which }: Folder,
  expected: readonly FileContent[],
): Promise<void> {
  const found = await contentOf(storage, { key, which });
  if (found !== undefined && contentHash(found) === contentHash(expected)) return;
  throw new StorageError(`folder ${key} is not the same in the copy; empty the copy, and copy again`);
}

async function contentOf(
  storage: Storage,
  { key, which }: Folder,
): Promise<readonly FileContent[] | undefined> {
  if (storage.readContent !== undefined) return stored(async () => storage.readContent?.(key, which));
  const open = () => (which === 'published' ? storage.openFolder(key) : storage.stageFolder(key));
  const directory = await stored(open);
  return directory === undefined ? undefined : filesIn(directory);
}

async function writeAll(to: Storage, collection: string, records: readonly StoredRecord[]): Promise<void> {
  for (let next = 0; next < records.length; next += WRITTEN_TOGETHER) {
    const some = records.slice(next, next + WRITTEN_TOGETHER);
    await Promise.all(
      some.map(({ key, value }) => stored(() => to.write(collection, key, value, undefined))),
    );
  }
}

async function compareRecords(from: Storage, to: Storage) {
  const [source, copy] = [await countsOf(from), await countsOf(to)];
  if (source.sha256 === copy.sha256) return source;
  throw new StorageError(
    `the copy has ${copy.records} records and the storage ${source.records}, or they differ: something worked on it meanwhile; stop that, empty the copy, and copy again`,
  );
}

async function countsOf(storage: Storage) {
  const hash = createHash('sha256');
  const accounts = new Set<string>();
  let [records, jobs] = [0, 0];
  for await (const page of pagesOf(storage)) {
    for (const { key, value } of page.records) {
      hash.update(`${JSON.stringify([page.collection, key, value])}\n`);
      records += 1;
      if (page.collection === JOBS) jobs += 1;
      accounts.add(key.split('/', 1)[0] ?? '');
    }
  }
  return { accounts: accounts.size, records, jobs, sha256: hash.digest('hex') };
}

/** Tells the queue of the jobs that have not ended. */
async function goOn(to: Storage, queue: JobQueue | undefined) {
  let [unfinished, local_datasets] = [0, 0];
  for await (const app_id of accountsWithJobs(to)) {
    for (const { id, dataset_url } of await new JobRepository(to, app_id).unfinished()) {
      if (queue !== undefined) await stored(() => queue.add({ app_id, id }));
      unfinished += 1;
      if (dataset_url.startsWith('file:') && uploadIn(dataset_url) === undefined) local_datasets += 1;
    }
  }
  return { unfinished, local_datasets };
}
