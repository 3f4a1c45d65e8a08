import type { ZodError } from 'zod';
import { InternalError, StorageError } from '../errors.js';
import type { JsonValue } from '../storage/index.js';
import { type JobRecord, jobRecordSchema } from './job-record.js';

/** The collection of all jobs. */
export const JOBS = 'jobs';

/** @throws StorageError for what isn't a job. */
export function parseJob(key: string, value: JsonValue): JobRecord {
  const parsed = jobRecordSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problem = firstProblem(parsed.error);
  throw new StorageError(`record ${JOBS}/${key} is not a training job (${problem}); repair or remove it`);
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
  return JSON.parse(JSON.stringify(job));
}

function firstProblem({ issues: [issue] }: ZodError): string {
  return issue ? `${issue.path.join('.')}: ${issue.message}` : 'it does not fit';
}
