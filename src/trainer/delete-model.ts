import { isOrchardError } from '../errors.js';
import { ownedName, ownerOf } from '../files/index.js';
import { accountKey, hasEnded, JOB_REMOVALS, moved, stored } from '../jobs/index.js';
import { isVersionConflict } from '../storage/index.js';
import type { AccountContext } from './account-context.js';
import { cancelJob } from './cancel-job.js';

export type DeletionContext = Pick<AccountContext, 'app_id' | 'storage' | 'jobs' | 'uses'>;

/** Deletions looked at together. */
const READ_TOGETHER = 100;

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

/**
 * Deletes a model whose job has ended. A record `job-removals/<app_id>/<id>` with the name of this process is there from
 * before the job is DELETED until its folder is gone, so that another process can finish the deletion of a killed one.
 */
export async function deleteEnded(context: DeletionContext, id: string): Promise<void> {
  const { storage, jobs, uses } = context;
  await beginRemoval(context, id);
  await jobs.update(id, (job) => (job.status === 'DELETED' ? job : moved(job, 'DELETED')), {
    resource: 'model',
  });
  await stored(() => storage.removeFolder(id));
  await endRemoval(context, id);
  await uses.forget(id);
}

/** Finishes the deletions of killed processes. @throws StorageError */
export async function finishDeletions(context: DeletionContext): Promise<void> {
  const { app_id, storage, jobs } = context;
  const prefix = `${accountKey(app_id)}/`;
  const found = await stored(() => storage.list(JOB_REMOVALS, { prefix, limit: READ_TOGETHER }));
  for (const { key, value } of found) {
    const owner = typeof value === 'string' ? ownerOf(value) : 'unknown';
    if (owner === 'living') continue;
    const id = key.slice(prefix.length);
    const job = await jobs.find(id);
    const isDeleted = job === undefined || job.status === 'DELETED';
    if (isDeleted) await stored(() => storage.removeFolder(id));
    // A process of another machine may be about to make the job DELETED.
    if (isDeleted || owner === 'ended') await endRemoval(context, id);
  }
}

async function beginRemoval({ app_id, storage }: DeletionContext, id: string): Promise<void> {
  const key = `${accountKey(app_id)}/${id}`;
  try {
    const found = await stored(() => storage.read(JOB_REMOVALS, key));
    const write = () => storage.write(JOB_REMOVALS, key, ownedName(), found?.version, { isUrgent: true });
    await stored(write);
  } catch (thrown) {
    if (!isVersionConflict(thrown)) throw thrown; // else another call deletes the same model
  }
}

async function endRemoval({ app_id, storage }: DeletionContext, id: string): Promise<void> {
  await stored(() => storage.remove(JOB_REMOVALS, `${accountKey(app_id)}/${id}`));
}

function unlessEndedOtherwise(thrown: unknown): void {
  if (!isOrchardError(thrown) || thrown.code !== 'transition') throw thrown;
}
