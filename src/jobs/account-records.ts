import type { Storage, StoredRecord } from '../storage/index.js';
import { JOBS } from './collections.js';

/** Records listed at a time. */
const LISTED_TOGETHER = 1000;
/** Comes after every character of an id, so that the next account's keys come after it. */
const AFTER_ALL = '/\uffff';

/** The account's name in the keys of its records, which are this or begin with it and a "/". */
export function accountKey(app_id: string): string {
  return encodeURIComponent(app_id);
}

/** The account's name in a key. @returns undefined for a key of no account. */
export function accountOf(key: string): string | undefined {
  try {
    const name = key.slice(0, Math.max(0, key.indexOf('/')));
    const app_id = decodeURIComponent(name);
    return app_id !== '' && accountKey(app_id) === name ? app_id : undefined;
  } catch {
    return undefined;
  }
}

/** The id that a key of any collection ends in. */
export function idIn(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1);
}

/** The accounts that have jobs, in the order of their keys. */
export async function* accountsWithJobs(storage: Storage): AsyncGenerator<string, void, undefined> {
  for (let after: string | undefined; ; ) {
    const [key] = await storage.listKeys(JOBS, { limit: 1, ...(after !== undefined && { after }) });
    if (key === undefined) return;
    const app_id = accountOf(key);
    if (app_id !== undefined) yield app_id;
    after = key.includes('/') ? key.slice(0, key.indexOf('/')) + AFTER_ALL : key;
  }
}

/** All records of a collection whose keys begin with `prefix`, in pages. */
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
