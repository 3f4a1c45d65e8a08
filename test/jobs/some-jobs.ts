import type { ModelType, TrainingJobStatus } from '../../src/contract/index.js';
import { type JobRecord, newJobRecord } from '../../src/jobs/index.js';
import { aRequest } from './request.js';

export const app_id = 'acme';
export const INDEX = 'job-index';
export const types = [
  'binary-text-classification',
  'sequence-labeling',
  'named-entity-recognition',
  'question-answering',
] as const satisfies readonly ModelType[];

/** The id of the n-th job in time. */
export function idOf(n: number): string {
  return `0190a6f0-0000-7000-8000-${String(n).padStart(12, '0')}`;
}

export function aJob(n: number, status: TrainingJobStatus, type: ModelType = types[0]): JobRecord {
  const job = { id: idOf(n), app_id, created: '2026-11-21T08:15:30.123+00:00', seed: 1 };
  const request = { ...aRequest, model_config: { ...aRequest.model_config, type } };
  return { ...newJobRecord(request, job), status };
}

export function ids(jobs: readonly JobRecord[]): string[] {
  return jobs.map(({ id }) => id);
}
