import * as z from 'zod';
import { StorageError } from '../errors.js';
import type { JsonValue } from '../storage/index.js';

const versionedSchema = z.object({ record_version: z.number() });

/** The number of a record's format that is beyond the one known here; undefined for any other record. */
export function laterVersion(value: JsonValue, known: number): number | undefined {
  const version = versionedSchema.safeParse(value).data?.record_version;
  return version !== undefined && version > known ? version : undefined;
}

/** @throws StorageError for a record that a later release wrote, which can't be read without loss. */
export function requireKnownVersion(record: string, value: JsonValue, known: number): void {
  const version = laterVersion(value, known);
  if (version !== undefined) throw new StorageError(newerOrchard(record, version, known));
}

/** What to tell of a record of a later release. */
export function newerOrchard(record: string, version: number, known: number): string {
  return `record ${record} was written by a newer Orchard (version ${version} of its format; this release of orchard-nlp knows up to ${known}); use the release that wrote it or a later one`;
}
