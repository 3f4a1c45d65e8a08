import type { ZodError } from 'zod';
import { InternalError } from '../errors.js';
import type { JsonValue, Version, Versioned } from '../storage/index.js';
import { JOBS } from './collections.js';
import { damagedJob } from './damaged-job.js';
import { type JobRecord, jobRecordSchema } from './job-record.js';
import { laterVersion, newerOrchard } from './record-version.js';

/** The version of a job's record; 2 added `claim`. Jobs of releases before versions have none. */
export const JOB_VERSION = 2;

/** A job as its record says. `problem` says why it can't be taken at its word; the job is an ERROR then. */
export interface ParsedJob {
  readonly job: JobRecord;
  readonly problem?: { readonly kind: 'damaged' | 'newer'; readonly message: string };
}

/** A job as it was read, with the version to write against. */
export interface StoredJob {
  readonly job: JobRecord;
  readonly version: Version;
}

/** A job that was created. */
export interface CreatedJob extends StoredJob {
  /** Whether the records that belong to it were created with it. */
  readonly isWhole: boolean;
}

/** @param names the account and the id that the key is made of. */
export function parseJob(names: { app_id: string; id: string }, { value, damage }: Versioned): ParsedJob {
  const record = `${JOBS}/${encodeURIComponent(names.app_id)}/${names.id}`;
  const version = laterVersion(value, JOB_VERSION);
  if (version !== undefined) {
    const message = newerOrchard(record, version, JOB_VERSION);
    return { job: damagedJob(names, value, message), problem: { kind: 'newer', message } };
  }
  const parsed = damage === undefined ? jobRecordSchema.safeParse(withoutVersion(value)) : undefined;
  if (parsed?.success) return { job: parsed.data };
  // Not `damage`, which may name a path of the machine: whoever asks for the job reads this.
  const reason = damage === undefined ? firstProblem(parsed?.error) : 'it is no record';
  const message = `record ${record} is damaged (${reason}); what was left of it is kept as damaged-${record}: delete this model, and train it again`;
  return { job: damagedJob(names, value, message), problem: { kind: 'damaged', message } };
}

/**
 * Drops undefined fields, as JSON has no such value.
 * @throws InternalError for a job that could not be read back, such as one with a figure that is not finite.
 */
export function toJson(job: JobRecord): JsonValue {
  const checked = jobRecordSchema.safeParse(job);
  if (!checked.success) {
    throw new InternalError(`training job ${job.id} can't be recorded: ${firstProblem(checked.error)}`);
  }
  return JSON.parse(JSON.stringify({ record_version: JOB_VERSION, ...job }));
}

function withoutVersion(value: JsonValue): unknown {
  if (typeof value !== 'object' || value === null || !('record_version' in value)) return value;
  const { record_version: _, ...job } = value;
  return job;
}

function firstProblem(error: ZodError | undefined): string {
  const issue = error?.issues[0];
  return issue ? `${issue.path.join('.')}: ${issue.message}` : 'it does not fit';
}
