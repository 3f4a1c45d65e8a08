import type { Database } from './database.js';
import { keyBytes, keyOf } from './key-bytes.js';
import type { RecordNews } from './records.js';

/**
 * Tells other processes which records were written. Only of few collections: the server lines up all transactions that
 * notify, so that telling of every record would slow all writes down.
 */
export class RecordChannels implements RecordNews {
  readonly #database: Database;
  readonly #told: readonly string[];
  readonly #self: string;

  /** @param told the collections. @param self a name for this process, which needn't be told of its own writes. */
  constructor(database: Database, told: readonly string[], self: string) {
    this.#database = database;
    this.#told = told;
    this.#self = self;
  }

  channelOf(collection: string): string | undefined {
    return this.#told.includes(collection) ? this.#database.channel(`records:${collection}`) : undefined;
  }

  payloadOf(key: string): string {
    return `${this.#self} ${keyBytes(key).toString('base64')}`;
  }

  /** Calls back with the keys that others write. @returns what ends it. */
  watch(collection: string, changed: (key: string) => void): () => void {
    const channel = this.channelOf(collection);
    if (channel === undefined) return () => undefined;
    const heard = (payload: string) => {
      const [writer, key = ''] = payload.split(' ');
      if (writer !== this.#self) changed(keyOf(Buffer.from(key, 'base64')));
    };
    return this.#database.listen(channel, { heard, connected: () => undefined });
  }
}
