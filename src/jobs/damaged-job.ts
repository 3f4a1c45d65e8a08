import * as z from 'zod';
import { type ModelConfig, modelConfigSchema } from '../contract/index.js';
import { isVersionConflict, type JsonValue, type Storage, type Versioned } from '../storage/index.js';
import { DAMAGED_JOBS } from './collections.js';
import { type JobRecord, newJobRecord } from './job-record.js';
import { stored } from './stored.js';

/** What a job's model is called where its record doesn't tell. */
const UNKNOWN_MODEL: ModelConfig = {
  name: 'damaged-record',
  type: 'multiclass-text-classification',
  family: 'Papaya',
  size: 'base',
};

const rest = z.object({ model_config: modelConfigSchema }).partial();
const goneSchema = z.object({ status: z.literal('DELETED') });

/** The ERROR that stands for a job whose record can't be read, with what its id and its record still tell. */
export function damagedJob(
  { app_id, id }: { app_id: string; id: string },
  value: JsonValue,
  message: string,
): JobRecord {
  const { model_config = UNKNOWN_MODEL } = rest.safeParse(value).data ?? {};
  const request = { dataset_url: 'unknown:', model_config };
  const created = new Date(timeOf(id)).toISOString().replace('Z', '+00:00');
  const job = newJobRecord(request, { id, app_id, created, seed: 0 });
  if (goneSchema.safeParse(value).success) return { ...job, status: 'DELETED' };
  return { ...job, status: 'ERROR', error: { code: 'storage', message } };
}

/** Keeps what is left of a record before it is replaced, unless that was done before. */
export async function keepDamaged(
  storage: Storage,
  key: string,
  { value, damage }: Versioned,
  message: string,
): Promise<void> {
  const kept = { message: damage ?? message, left: value };
  try {
    await stored(() => storage.write(DAMAGED_JOBS, key, kept, undefined, { isUrgent: true }));
  } catch (thrown) {
    if (!isVersionConflict(thrown)) throw thrown;
  }
}

/** When an id was made: the first 48 bits of a UUID of version 7, in milliseconds since 1970. */
function timeOf(id: string): number {
  return Number.parseInt(id.replace('-', '').slice(0, 12), 16);
}
