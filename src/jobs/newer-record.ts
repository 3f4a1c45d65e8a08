import { StorageError } from '../errors.js';
import type { JobRecord } from './job-record.js';

/** A record that a later release wrote. */
export class NewerRecord extends StorageError {
  constructor(
    message: string,
    /** What listings show of it. */
    readonly standIn: JobRecord,
  ) {
    super(message);
    this.name = 'StorageError';
  }
}

/** What listings show of it; throws whatever else was thrown. */
export function standInOfNewer(thrown: unknown): JobRecord {
  if (thrown instanceof NewerRecord) return thrown.standIn;
  throw thrown;
}
