import { createHash } from 'node:crypto';
import * as z from 'zod';
import { parseJson, readTextIfPresent } from '../files/index.js';
import type { JsonValue, StoredRecord } from './storage.js';

/** How many files are read at once. */
const READ_TOGETHER = 32;

/** Where a record is stored; it may have been removed since. */
export interface RecordPlace {
  readonly key: string;
  readonly path: string;
}

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

/** How much of a damaged file is handed on, in UTF-16 code units. */
const MAX_LEFT = 65_536;

/**
 * The record in a file; undefined if there is no such file. What Orchard didn't write like this is a damaged record.
 * @param key that the file is named by; undefined where only its contents say so.
 */
export async function readRecord(path: string, key?: string): Promise<StoredRecord | undefined> {
  const text = await readTextIfPresent(path);
  if (text === undefined) return undefined;
  const record = parseJson(recordSchema, text);
  if (record !== undefined) return record;
  return key === undefined ? undefined : damagedRecord(path, key, text);
}

function damagedRecord(path: string, key: string, text: string): StoredRecord {
  const version = `damaged-${createHash('sha256').update(text).digest('hex')}`;
  const damage = `${path} is not a record { key, version, value } in JSON`;
  return { key, version, value: text.slice(0, MAX_LEFT), damage };
}

/** The records in those of the files that exist. */
export async function readRecords(places: readonly RecordPlace[]): Promise<StoredRecord[]> {
  const found: StoredRecord[] = [];
  for (let next = 0; next < places.length; next += READ_TOGETHER) {
    const group = places.slice(next, next + READ_TOGETHER);
    const records = await Promise.all(group.map(({ path, key }) => readRecord(path, key)));
    for (const record of records) if (record !== undefined) found.push(record);
  }
  return found;
}
