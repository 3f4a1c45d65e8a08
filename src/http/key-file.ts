import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { StorageError } from '../errors.js';
import { replaceFile } from '../files/index.js';
import { parseStoredKeys, type StoredKey } from './api-keys.js';

/** The keys in a file. @throws StorageError, ValidationError */
export async function readKeyFile(path: string): Promise<StoredKey[]> {
  return parseStoredKeys(await named(path, readFile(path, 'utf8')));
}

/**
 * Adds a key to a file, which is made where there is none. Its owner alone can read it.
 * @throws StorageError, ValidationError; the file is then as it was
 */
export async function addToKeyFile(path: string, key: StoredKey): Promise<void> {
  const known = existsSync(path) ? await readKeyFile(path) : [];
  const keys = parseStoredKeys(JSON.stringify([...known, key]));
  const json = `${JSON.stringify(keys, null, 2)}\n`;
  await named(path, replaceFile(path, json, { mode: 0o600 }));
}

/** Has a failure tell which file it is about. @throws StorageError */
async function named<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (thrown) {
    throw new StorageError(`the file of keys ${path}: ${thrown}`, { cause: thrown });
  }
}
