import { TransitionError } from '../contract/index.js';
import { asStorageError } from '../storage/index.js';
import type { AccountContext } from './account-context.js';
import { canReach, hasEnded, moved } from './job-record.js';

/**
 * Cancels a job: first in its record, then in the queue, so that a failure between the two can be made up for. Resolves
 * when the job is CANCELLED and its run, in whichever process, has stopped.
 * @throws TransitionError if it has ended already or ends otherwise first, NotFoundError, StorageError
 */
export async function cancelJob({ app_id, jobs, events, queue }: AccountContext, id: string): Promise<void> {
  const job = await jobs.update(id, (found) =>
    found.status === 'RUNNING' ? { ...found, cancel_requested: true } : moved(found, 'CANCELLED'),
  );
  const telling = asStorageError(() => queue.cancel({ app_id, id }));
  if (hasEnded(job.status)) {
    events.publishState(job);
    return telling.catch(() => undefined); // a worker that gets the job all the same finds that it has ended
  }
  await telling;
  await events.ended(id);
  const { status } = await jobs.get(id);
  if (status !== 'CANCELLED' && !canReach('CANCELLED', status)) {
    throw new TransitionError(id, status, 'CANCELLED');
  }
}
