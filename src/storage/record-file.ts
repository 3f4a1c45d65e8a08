import * as z from 'zod';
import { StorageError } from '../errors.js';
import { parseJson, readTextIfPresent } from '../files/index.js';
import type { JsonValue, StoredRecord } from './storage.js';

/** How many files are read at once. */
const READ_TOGETHER = 32;

/** The contents of a record's file, including the key, as a long one is not in the file's name. */
const recordSchema = z.object({
  key: z.string(),
  version: z.string(),
  value: z.custom<JsonValue>((value) => value !== undefined),
});

/** The text of a record's file. */
export function recordText({ key, version, value }: StoredRecord): string {
  return `${JSON.stringify({ key, version, value }, undefined, 2)}\n`;
}

/**
 * The record in a file; undefined if there is no such file.
 * @throws StorageError for a file that Orchard didn't write like this.
 */
export async function readRecord(path: string): Promise<StoredRecord | undefined> {
  const text = await readTextIfPresent(path);
  if (text === undefined) return undefined;
  const record = parseJson(recordSchema, text);
  if (record === undefined) {
    throw new StorageError(
      `${path} is not a record { key, version, value } in JSON; restore or delete the file`,
    );
  }
  return record;
}

/** The records in those of the files that exist. */
export async function readRecords(paths: readonly string[]): Promise<StoredRecord[]> {
  const found: StoredRecord[] = [];
  for (let next = 0; next < paths.length; next += READ_TOGETHER) {
    const records = await Promise.all(paths.slice(next, next + READ_TOGETHER).map(readRecord));
    for (const record of records) if (record !== undefined) found.push(record);
  }
  return found;
}
