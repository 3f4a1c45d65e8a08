import type { ListOptions } from './storage.js';

/** The most records of a listing if `limit` is not given. */
export const DEFAULT_LIMIT = 100;

/** The keys that a listing asks for. */
export type KeyRange = Omit<ListOptions, 'limit'>;

/** True if the listing asks for this key. */
export function isListed(key: string, { prefix = '', after, reverse = false }: KeyRange): boolean {
  return key.startsWith(prefix) && (after === undefined || (reverse ? key < after : key > after));
}

/** False if the listing asks for no key that begins like this. */
export function mayBeginListed(beginning: string, { prefix = '', after, reverse }: KeyRange): boolean {
  const fitsPrefix = beginning.startsWith(prefix) || prefix.startsWith(beginning);
  if (after === undefined || after.startsWith(beginning)) return fitsPrefix;
  return fitsPrefix && (reverse ? beginning < after : beginning > after);
}
