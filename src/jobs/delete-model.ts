import { isOrchardError } from '../contract/index.js';
import type { AccountContext } from './account-context.js';
import { cancelJob } from './cancel-job.js';
import { hasEnded, moved } from './job-record.js';

export type DeletionContext = Pick<AccountContext, 'app_id' | 'storage' | 'jobs' | 'uses'>;

/**
 * Makes the job of a model DELETED and removes its files, cancelling it first if it has not ended. On a deleted model,
 * it removes what an earlier attempt left.
 * @throws NotFoundError, StorageError
 */
export async function deleteModel(context: AccountContext, id: string): Promise<void> {
  const { status } = await context.jobs.get(id, 'model');
  if (!hasEnded(status)) await cancelJob(context, id).catch(unlessEndedOtherwise);
  await deleteEnded(context, id);
}

/** Deletes a model whose job has ended. If the process is killed meanwhile, {@link finishDeletions} does the rest. */
export async function deleteEnded(context: DeletionContext, id: string): Promise<void> {
  await context.jobs.update(
    id,
    (job) => (job.status === 'DELETED' ? job : { ...moved(job, 'DELETED'), has_files: true }),
    { resource: 'model' },
  );
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
