import * as z from 'zod';
import { JOB_QUEUE, requireKnownVersion, stored } from '../jobs/index.js';
import {
  isVersionConflict,
  type JsonValue,
  type Storage,
  type Version,
  type WriteOptions,
} from '../storage/index.js';

/** The version of an entry's record. Entries of releases before versions have none. */
const VERSION = 1;
/** Changes of entries go on when the medium is full. */
const URGENT: WriteOptions = { isUrgent: true };

const entrySchema = z.strictObject({
  record_version: z.literal(VERSION).exactOptional(),
  /** Whether it has been handed to a worker. */
  started: z.boolean(),
  cancelled: z.boolean(),
});
type Entry = z.infer<typeof entrySchema>;

const NEW: Entry = { record_version: VERSION, started: false, cancelled: false };

/**
 * The jobs of one account that are in the embedded queue, as `job-queue/<app_id>/<id>`, so that keys sort by time.
 * Conditional writes decide between a worker that starts a job and whoever cancels it meanwhile.
 */
export class QueueEntries {
  readonly #storage: Storage;
  readonly #prefix: string;

  constructor(storage: Storage, appId: string) {
    this.#storage = storage;
    this.#prefix = `${encodeURIComponent(appId)}/`;
  }

  /** Adds a job that is not there yet. */
  async add(id: string): Promise<void> {
    await this.#write(id, NEW, undefined);
  }

  async oldest(): Promise<string | undefined> {
    const [first] = await stored(() => this.#storage.list(JOB_QUEUE, { prefix: this.#prefix, limit: 1 }));
    return first?.key.slice(this.#prefix.length);
  }

  /** Marks a job as handed out. @returns it, unless it is gone or was cancelled before it started. */
  async start(id: string): Promise<Entry | undefined> {
    const entry = await this.#change(id, (found) =>
      found.started || found.cancelled ? found : { ...found, started: true },
    );
    if (entry === undefined || entry.started) return entry;
    await this.remove(id);
  }

  /** Cancels a job; one that has not started goes when its turn comes. @returns whether it has started. */
  async cancel(id: string): Promise<boolean> {
    const entry = await this.#change(id, (found) => ({ ...found, cancelled: true }));
    return entry?.started ?? false;
  }

  async isCancelled(id: string): Promise<boolean> {
    return (await this.#read(id))?.entry.cancelled ?? false;
  }

  async remove(id: string): Promise<void> {
    await stored(() => this.#storage.remove(JOB_QUEUE, this.#prefix + id));
  }

  /** @returns the entry as it is then; undefined where there is none. */
  async #change(id: string, change: (entry: Entry) => Entry): Promise<Entry | undefined> {
    for (;;) {
      const found = await this.#read(id);
      if (found === undefined) return undefined;
      const changed = change(found.entry);
      if (changed === found.entry || (await this.#write(id, changed, found.version, URGENT))) return changed;
    }
  }

  async #read(id: string): Promise<{ entry: Entry; version: Version } | undefined> {
    const key = this.#prefix + id;
    const found = await stored(() => this.#storage.read(JOB_QUEUE, key));
    return found && { entry: parseEntry(key, found.value), version: found.version };
  }

  /** @returns false where someone else wrote first. */
  async #write(
    id: string,
    entry: Entry,
    version: Version | undefined,
    options: WriteOptions = {},
  ): Promise<boolean> {
    try {
      await stored(() => this.#storage.write(JOB_QUEUE, this.#prefix + id, entry, version, options));
      return true;
    } catch (thrown) {
      if (isVersionConflict(thrown)) return false;
      throw thrown;
    }
  }
}

function parseEntry(key: string, value: JsonValue): Entry {
  requireKnownVersion(`${JOB_QUEUE}/${key}`, value, VERSION);
  return entrySchema.safeParse(value).data ?? NEW; // the job's own record says how it stands
}
