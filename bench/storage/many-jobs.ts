import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { v7 as uuidV7 } from 'uuid';
import { type ModelType, modelTypes, type TrainingJobStatus } from '../../src/contract/index.js';
import { taskOf } from '../../src/families/index.js';
import { type JobRecord, newJobRecord, viewsOf } from '../../src/jobs/index.js';
import { pathOfKey } from '../../src/storage/index.js';
import { Random } from '../../src/system/index.js';

/**
 * Makes a storage that already holds many jobs of one account; it is written without waiting for the disk.
 */

export const app_id = 'bench';
/** How an account's jobs have ended, in percent. */
const ENDS: readonly [TrainingJobStatus, number][] = [
  ['READY', 60],
  ['DELETED', 25],
  ['ERROR', 10],
  ['CANCELLED', 5],
];
const EPOCHS = 10;
const NEWEST = Date.parse('2026-11-21T08:15:30.123Z');

export interface ManyJobs {
  readonly count: number;
  /** Time between two jobs. */
  readonly spacingMs: number;
  /** How many of them, the newest, have not started. */
  readonly waiting: number;
}

export function writeManyJobs(directory: string, { count, spacingMs, waiting }: ManyJobs): void {
  const random = Random.fromSeed(1);
  for (let age = count - 1; age >= 0; age -= 1) {
    const status = age < waiting ? 'QUEUED' : endAt(random.integer(100));
    const type = modelTypes[random.integer(modelTypes.length)] ?? 'question-answering';
    const job = aJob({ status, type, created: NEWEST - age * spacingMs });
    const key = `${app_id}/${job.id}`;
    writeRecord(join(directory, 'records', 'jobs', pathOfKey(key)), key, job);
    for (const view of viewsOf(job, taskOf)) {
      const key = `${app_id}/${view}/${job.id}`;
      writeRecord(join(directory, 'records', 'job-index', pathOfKey(key)), key, null);
    }
  }
}

export function aJob(options: { status: TrainingJobStatus; type: ModelType; created: number }): JobRecord {
  const { status, type, created } = options;
  const id = uuidV7({ msecs: created });
  const model_config = { name: 'reviews', type, family: 'Papaya', size: 'mini' } as const;
  const request = { dataset_url: 'https://example.com/reviews.zip', model_config };
  const job = newJobRecord(request, { id, app_id, created: new Date(created).toISOString(), seed: 1 });
  const figures = Array.from({ length: EPOCHS }, (_, epoch) => 1 / (epoch + 1));
  const metrics = { elapsed_time: figures, training: { loss: figures }, validation: { accuracy: figures } };
  return { ...job, status, stats: { ...job.stats, epoch: EPOCHS, metrics } };
}

function endAt(percent: number): TrainingJobStatus {
  let sum = 0;
  for (const [status, share] of ENDS) {
    sum += share;
    if (percent < sum) return status;
  }
  return 'READY';
}

function writeRecord(path: string, key: string, value: unknown): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify({ key, version: '1', value }));
}
