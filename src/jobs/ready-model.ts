import { ModelNotReadyError, NotFoundError } from '../errors.js';
import type { Storage } from '../storage/index.js';
import type { JobRecord } from './job-record.js';
import type { JobRepository } from './job-repository.js';

/** A model that can answer. */
export interface ReadyModel {
  readonly job: JobRecord;
  /** Where its files are. */
  readonly directory: string;
}

/**
 * A READY model and its files.
 * @throws NotFoundError for an unknown or deleted model, ModelNotReadyError for any other that can't answer,
 * StorageError.
 */
export async function readyModel(id: string, jobs: JobRepository, storage: Storage): Promise<ReadyModel> {
  const job = await jobs.get(id, 'model');
  requireReady(job);
  const directory = await storage.openFolder(id);
  if (directory !== undefined) return { job, directory };
  requireReady(await jobs.get(id, 'model')); // it may have been deleted since
  throw new ModelNotReadyError(id, 'READY', 'but its files are gone from the storage; train it again');
}

function requireReady({ id, status, error }: JobRecord): void {
  if (status === 'READY') return;
  if (status === 'DELETED') throw new NotFoundError('model', id, 'it was deleted');
  throw error === undefined
    ? new ModelNotReadyError(id, status)
    : new ModelNotReadyError(id, status, `its training failed: ${error.message}`);
}
