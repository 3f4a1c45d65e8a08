import { isOrchardError } from '../contract/index.js';
import type { AccountContext } from './account-context.js';
import { cancelJob } from './cancel-job.js';
import { hasEnded, type JobRecord, moved } from './job-record.js';
import { VersionRecords } from './version-records.js';

export type DeletionContext = Pick<AccountContext, 'app_id' | 'storage' | 'jobs' | 'uses'>;

interface DeletionOptions {
  /** Whether to delete a model that names point to, when all of its account is erased. Default false. */
  readonly evenIfNamed?: boolean;
}

/**
 * Makes the job of a model DELETED and removes its files, cancelling it first if it has not ended. On a deleted model,
 * it removes what an earlier attempt left.
 * @throws NotFoundError, ModelInUseError if a name points to it, StorageError
 */
export async function deleteModel(context: AccountContext, id: string, options: DeletionOptions = {}): Promise<void> {
  const { status } = await context.jobs.get(id, 'model');
  if (!hasEnded(status)) await cancelJob(context, id).catch(unlessEndedOtherwise);
  await deleteEnded(context, id, options);
}

/**
 * Deletes a model whose job has ended. If the process is killed meanwhile, {@link finishDeletions} does the rest.
 * @throws ModelInUseError
 */
export async function deleteEnded(
  context: DeletionContext,
  id: string,
  { evenIfNamed = false }: DeletionOptions = {},
): Promise<void> {
  const names = new VersionRecords(context.storage, context.app_id);
  let mayDelete = evenIfNamed;
  const deleted = (job: JobRecord): JobRecord => {
    if (job.status === 'DELETED' || (job.was_named && !mayDelete)) return job;
    return { ...moved(job, 'DELETED'), has_files: true };
  };
  let job = await context.jobs.update(id, deleted, { resource: 'model' });
  if (job.status !== 'DELETED') {
    await names.beginDeletion(id);
    mayDelete = true;
    job = await context.jobs.update(id, deleted, { resource: 'model' });
  }
  if (job.was_named) await names.endDeletion(id);
  await removeFiles(context, id);
  await context.uses.forget(id);
}

/** Removes the files of deleted models that killed processes left. @throws StorageError */
export async function finishDeletions(context: DeletionContext): Promise<void> {
  for (const { id } of await context.jobs.withFilesLeft()) await removeFiles(context, id);
}

async function removeFiles({ storage, jobs }: DeletionContext, id: string): Promise<void> {
  await storage.removeFolder(id);
  await jobs.update(id, (job) => {
    if (!job.has_files) return job;
    const { has_files: _, ...rest } = job;
    return rest;
  });
}

function unlessEndedOtherwise(thrown: unknown): void {
  if (!isOrchardError(thrown) || thrown.code !== 'transition') throw thrown;
}
