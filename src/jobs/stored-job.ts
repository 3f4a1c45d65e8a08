import * as z from 'zod';
import { InternalError, type ModelConfig, modelConfigSchema } from '../contract/index.js';
import { isVersionConflict, type JsonValue, type Storage, type Version, type Versioned } from '../storage/index.js';
import { DAMAGED_JOBS, JOBS } from './collections.js';
import { type JobRecord, jobRecordSchema, newJobRecord } from './job-record.js';

/** What a job's model is called if its damaged record doesn't tell. */
const UNKNOWN_MODEL: ModelConfig = {
  name: 'damaged-record',
  type: 'multiclass-text-classification',
  family: 'Papaya',
  size: 'base',
};

const rest = z.object({ model_config: modelConfigSchema }).partial();
const goneSchema = z.object({ status: z.literal('DELETED') });

/** A job as it was read, with the version to write against. */
export interface StoredJob {
  readonly job: JobRecord;
  readonly version: Version;
}

/** A job as its record says. If the record is damaged, the job is an ERROR, and `damage` says what is wrong. */
interface ParsedJob {
  readonly job: JobRecord;
  readonly damage?: string;
}

/** @param names the account and the id that the key is made of. */
export function parseJob(names: { app_id: string; id: string }, { value, damage }: Versioned): ParsedJob {
  const parsed = damage === undefined ? jobRecordSchema.safeParse(value) : undefined;
  if (parsed?.success) return { job: parsed.data };
  const record = `${JOBS}/${encodeURIComponent(names.app_id)}/${names.id}`;
  // Not `damage`, which may name a path of the machine: clients read this message.
  const reason = damage === undefined ? firstProblem(parsed?.error) : 'it is no record';
  const message = `record ${record} is damaged (${reason}); what was left of it is kept as damaged-${record}: delete this model, and train it again`;
  return { job: damagedJob(names, value, message), damage: message };
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

/** Keeps the rest of a damaged record before it is replaced, unless that was done before. */
export async function keepDamaged(
  storage: Storage,
  key: string,
  { value, damage }: Versioned,
  message: string,
): Promise<void> {
  const kept = { message: damage ?? message, left: value };
  try {
    await storage.write(DAMAGED_JOBS, key, kept, undefined, { isUrgent: true });
  } catch (thrown) {
    if (!isVersionConflict(thrown)) throw thrown;
  }
}

/** An ERROR in place of a job whose record can't be read, with the rest of its data. */
function damagedJob({ app_id, id }: { app_id: string; id: string }, value: JsonValue, message: string): JobRecord {
  const { model_config = UNKNOWN_MODEL } = rest.safeParse(value).data ?? {};
  const request = { dataset_url: 'unknown:', model_config };
  const created = new Date(timeOf(id)).toISOString().replace('Z', '+00:00');
  const job = newJobRecord(request, { id, app_id, created, seed: 0 });
  if (goneSchema.safeParse(value).success) return { ...job, status: 'DELETED' };
  return { ...job, status: 'ERROR', error: { code: 'storage', message } };
}

/** When an id was made: the first 48 bits of a UUID of version 7, in milliseconds since 1970. */
function timeOf(id: string): number {
  return Number.parseInt(id.replace('-', '').slice(0, 12), 16);
}

function firstProblem(error: z.ZodError | undefined): string {
  const issue = error?.issues[0];
  return issue ? `${issue.path.join('.')}: ${issue.message}` : 'it does not fit';
}
