import type { Storage, StoredRecord } from '../storage/index.js';

/*
 * All collections of records that a storage has, since erasing an account visits each. Every key is an account's name
 * or begins with it and a "/" (accountKey). A new collection needs a place in one of the lists at the end.
 */

export const JOBS = 'jobs';
/** Which jobs are in which listing. */
export const JOB_INDEX = 'job-index';
/** What is left of damaged records of jobs, under the same keys. */
export const DAMAGED_JOBS = 'damaged-jobs';
/** When models were used last. */
export const MODEL_USES = 'model-uses';
/** The requests that came with an idempotency key. */
export const JOB_REQUESTS = 'job-requests';
export const JOB_LEASES = 'job-leases';
/** The inference calls that accounts have made. */
export const QUOTA = 'quota';
/** The datasets that accounts have sent; each also has a folder. */
export const UPLOADS = 'uploads';
/** Sets of texts that accounts label at the page of a service: what each is, its texts, and the choices that were made. */
export const LABELLING = { sets: 'labelling-sets', texts: 'labelling-texts', choices: 'labelling-choices' } as const;
const OF_LABELLING = Object.values(LABELLING);

/** What an account's names point to. */
export const VERSIONS = 'versions';
/** How the answers of shadows compare. */
export const SHADOW_COUNTS = 'shadow-counts';

/** The records of one job, whose keys end in its id, apart from the job itself. */
export const OF_A_JOB = [JOB_INDEX, DAMAGED_JOBS, MODEL_USES] as const;
/** What a copy of the storage has. Leases stay behind, as no process works on the copy yet; jobs come last. */
export const COPIED = [
  ...OF_A_JOB,
  JOB_REQUESTS,
  QUOTA,
  UPLOADS,
  ...OF_LABELLING,
  VERSIONS,
  SHADOW_COUNTS,
  JOBS,
] as const;
/** The records of an account as a whole, apart from its lease, which others may hold, and uploads, which have folders. */
export const OF_AN_ACCOUNT = [JOB_REQUESTS, QUOTA, ...OF_LABELLING, VERSIONS, SHADOW_COUNTS] as const;

const LISTED_TOGETHER = 1000;
/** Comes after every character of an id, so that the next account's keys come after it. */
const AFTER_ALL = '/\uffff';

/** The account's name in the keys of its records, which are this or begin with it and a "/". */
export function accountKey(app_id: string): string {
  return encodeURIComponent(app_id);
}

export function accountOf(key: string): string | undefined {
  try {
    const name = key.slice(0, Math.max(0, key.indexOf('/')));
    const app_id = decodeURIComponent(name);
    return app_id !== '' && accountKey(app_id) === name ? app_id : undefined;
  } catch {
    return undefined;
  }
}

export function idIn(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1);
}

export async function* accountsWithJobs(storage: Storage): AsyncGenerator<string, void, undefined> {
  for (let after: string | undefined; ; ) {
    const [key] = await storage.listKeys(JOBS, { limit: 1, ...(after !== undefined && { after }) });
    if (key === undefined) return;
    const app_id = accountOf(key);
    if (app_id !== undefined) yield app_id;
    after = key.includes('/') ? key.slice(0, key.indexOf('/')) + AFTER_ALL : key;
  }
}

export async function* recordPages(
  storage: Storage,
  collection: string,
  prefix = '',
): AsyncGenerator<readonly StoredRecord[], void, undefined> {
  for (let after: string | undefined; ; ) {
    const listing = { prefix, limit: LISTED_TOGETHER, ...(after !== undefined && { after }) };
    const records = await storage.list(collection, listing);
    yield records;
    if (records.length < LISTED_TOGETHER) return;
    after = records.at(-1)?.key;
  }
}

/** All keys of a collection that are this account's, whatever their records hold. */
export async function keysOfAccount(storage: Storage, collection: string, app_id: string): Promise<string[]> {
  const account = accountKey(app_id);
  const [first] = await storage.listKeys(collection, { prefix: account, limit: 1 });
  const found = first === account ? [account] : [];
  for (let after: string | undefined; ; after = found.at(-1)) {
    const listing = { limit: LISTED_TOGETHER, ...(after !== undefined && { after }) };
    const keys = await storage.listKeys(collection, { prefix: `${account}/`, ...listing });
    found.push(...keys);
    if (keys.length < LISTED_TOGETHER) return found;
  }
}
