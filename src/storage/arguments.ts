import type { ListOptions } from './storage.js';

/** The longest key, in UTF-16 code units. */
const MAX_KEY_LENGTH = 200;
/** The most records of a listing if `limit` is not given. */
export const DEFAULT_LIMIT = 100;

/** The keys that a listing asks for. */
export type KeyRange = Omit<ListOptions, 'limit'>;

/** @throws RangeError for a key outside 1 to 200 characters: a defect of the caller. */
export function checkKey(key: string): void {
  if (key.length < 1 || key.length > MAX_KEY_LENGTH) {
    throw new RangeError(`a storage key has 1 to ${MAX_KEY_LENGTH} characters; this one has ${key.length}: ${key}`);
  }
}

/** @throws RangeError for a collection not named in a–z and '-': a defect of the caller. */
export function checkCollection(collection: string): void {
  if (!/^[a-z-]+$/.test(collection)) {
    throw new RangeError(`a collection is named in a–z and '-', not ${JSON.stringify(collection)}`);
  }
}

/** @throws RangeError for a limit that isn't a count: a defect of the caller. */
export function checkLimit(limit: number): void {
  if (limit !== Number.POSITIVE_INFINITY && !(Number.isInteger(limit) && limit >= 0)) {
    throw new RangeError(`the limit of a listing is a count, not ${limit}`);
  }
}

/** True if the listing asks for this key. */
export function isListed(key: string, { prefix = '', after, reverse = false }: KeyRange): boolean {
  return key.startsWith(prefix) && (after === undefined || (reverse ? key < after : key > after));
}
