import type { Storage } from '../storage/index.js';
import { JOBS } from './collections.js';
import { noteWrite } from './job-writes.js';
import { stored } from './stored.js';

/** Keys listed at a time. */
const LISTED_TOGETHER = 1000;
/** The last that may follow an account's name in a key, so that the keys of the next account come after it. */
const AFTER_ALL = '/\uffff';

/** What an account's name is in the keys of its records, which are this or begin with it and a "/". */
export function accountKey(app_id: string): string {
  return encodeURIComponent(app_id);
}

/** The accounts that have jobs, in the order of their keys. */
export async function* accountsWithJobs(storage: Storage): AsyncGenerator<string, void, undefined> {
  for (let after: string | undefined; ; ) {
    const listing = { limit: 1, ...(after !== undefined && { after }) };
    const [key] = await stored(() => storage.listKeys(JOBS, listing));
    if (key === undefined) return;
    const account = key.slice(0, Math.max(0, key.indexOf('/')));
    const app_id = decodedName(account);
    if (app_id !== undefined) yield app_id;
    after = account === '' ? key : account + AFTER_ALL;
  }
}

/** The account's name in a key. @returns undefined for what is no account's. */
export function decodedName(account: string): string | undefined {
  try {
    const app_id = decodeURIComponent(account);
    return app_id !== '' && accountKey(app_id) === account ? app_id : undefined;
  } catch {
    return undefined;
  }
}

/** The records of one account, whatever they hold: also what can't be read any more. */
export class AccountRecords {
  readonly #storage: Storage;
  readonly #account: string;

  constructor(storage: Storage, app_id: string) {
    this.#storage = storage;
    this.#account = accountKey(app_id);
  }

  /** What its jobs' keys end in, the oldest first: their ids. */
  async jobIds(): Promise<string[]> {
    return (await this.keys(JOBS)).map(idIn);
  }

  /** Whether there is a record of this job. */
  async hasJob(id: string): Promise<boolean> {
    const prefix = `${this.#account}/${id}`;
    return (await stored(() => this.#storage.listKeys(JOBS, { prefix, limit: 1 }))).length > 0;
  }

  async removeJob(id: string): Promise<void> {
    await this.remove(JOBS, `${this.#account}/${id}`);
    noteWrite(this.#storage, id);
  }

  /** All keys of a collection that are this account's. */
  async keys(collection: string): Promise<string[]> {
    const account = this.#account;
    const [first] = await stored(() => this.#storage.listKeys(collection, { prefix: account, limit: 1 }));
    const found = first === account ? [account] : [];
    for (let after: string | undefined; ; after = found.at(-1)) {
      const listing = {
        prefix: `${account}/`,
        limit: LISTED_TOGETHER,
        ...(after !== undefined && { after }),
      };
      const keys = await stored(() => this.#storage.listKeys(collection, listing));
      found.push(...keys);
      if (keys.length < LISTED_TOGETHER) return found;
    }
  }

  async remove(collection: string, key: string): Promise<void> {
    await stored(() => this.#storage.remove(collection, key));
  }
}

/** The job that a key of any collection ends in. */
export function idIn(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1);
}
