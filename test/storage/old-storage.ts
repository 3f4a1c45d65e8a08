import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JsonValue } from '../../src/storage/index.js';

/** A record with the name of its file in a directory of layout 1, as releases before layout 2 wrote it. */
export interface OldRecord {
  readonly key: string;
  readonly file: string;
  readonly value: JsonValue;
}

export const oldRecords: readonly OldRecord[] = [
  { key: 'a', file: 'a.json', value: 'short' },
  { key: 'A', file: '%41.json', value: 'upper case' },
  { key: 'local/7', file: 'local%2f7.json', value: { status: 'READY' } },
  {
    key: 'local/0190a6f0-0000-7000-8000-000000000001',
    file: 'local%2f0190a6f0-0000-7000-8000-000000000001.json',
    value: { status: 'ERROR' },
  },
  { key: 'con', file: '%63on.json', value: 'a device' },
  {
    key: '木'.repeat(200),
    file: `${'%u6728'.repeat(13)}%u~87ff60af69c398fcee0c8811abc96b025e26bbe9dc96ce28c97c571497fae279.json`,
    value: 'hashed',
  },
];

/** Lays out a storage's directory as releases before layout 2 did: all records of a collection side by side. */
export async function writeOldStorage(
  directory: string,
  collection: string,
  records: readonly OldRecord[],
): Promise<void> {
  const home = join(directory, 'records', collection);
  await mkdir(home, { recursive: true });
  for (const { key, file, value } of records) {
    const record = { key, version: `version of ${key}`, value };
    await writeFile(join(home, file), `${JSON.stringify(record, undefined, 2)}\n`);
  }
}
