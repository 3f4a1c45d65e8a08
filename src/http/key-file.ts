import { existsSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { okAsync, ResultAsync } from 'neverthrow';
import { StorageError, type ValidationError } from '../errors.js';
import { parseStoredKeys, type StoredKey } from './api-keys.js';

export type KeyFileError = StorageError | ValidationError;

/** The keys in a file. */
export function readKeyFile(path: string): ResultAsync<StoredKey[], KeyFileError> {
  return ResultAsync.fromPromise(readFile(path, 'utf8'), failed(path)).andThen(parseStoredKeys);
}

/** Adds a key to a file, which is made where there is none. Its owner alone can read it. */
export function addToKeyFile(path: string, key: StoredKey): ResultAsync<void, KeyFileError> {
  const known = existsSync(path) ? readKeyFile(path) : okAsync<StoredKey[], KeyFileError>([]);
  return known
    .andThen((keys) => parseStoredKeys(JSON.stringify([...keys, key])))
    .andThen((keys) => ResultAsync.fromPromise(replaceFile(path, keys), failed(path)));
}

/** Whole or not at all: a server may be starting on it. */
async function replaceFile(path: string, keys: readonly StoredKey[]): Promise<void> {
  await writeFile(`${path}.new`, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600 });
  await rename(`${path}.new`, path);
}

function failed(path: string): (thrown: unknown) => StorageError {
  return (thrown) => new StorageError(`the file of keys ${path}: ${thrown}`, { cause: thrown });
}
