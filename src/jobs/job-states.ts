import { type TrainingJobStatus, TransitionError } from '../contract/index.js';

/**
 * Every transition of a training job. A deletion cancels a job that has not ended first, so only ended jobs become
 * DELETED.
 */
const successors: Readonly<Record<TrainingJobStatus, readonly TrainingJobStatus[]>> = {
  CREATED: ['QUEUED', 'CANCELLED'],
  QUEUED: ['RUNNING', 'CANCELLED'],
  RUNNING: ['READY', 'ERROR', 'CANCELLED'],
  READY: ['DELETED'],
  ERROR: ['DELETED'],
  CANCELLED: ['DELETED'],
  DELETED: [],
};

const unfinished: readonly TrainingJobStatus[] = ['CREATED', 'QUEUED', 'RUNNING'];

/** True if the job will never run again. */
export function hasEnded(status: TrainingJobStatus): boolean {
  return !unfinished.includes(status);
}

/** True if the job has yet to start. */
export function isWaiting(status: TrainingJobStatus): boolean {
  return status === 'CREATED' || status === 'QUEUED';
}

/** Whether `later` can follow `earlier`, directly or through other states. */
export function canReach(earlier: TrainingJobStatus, later: TrainingJobStatus): boolean {
  return successors[earlier].some((next) => next === later || canReach(next, later));
}

/**
 * The job in its next state. Nothing else changes a status.
 * @throws TransitionError if the table has no such transition.
 */
export function moved<Job extends { readonly id: string; readonly status: TrainingJobStatus }>(
  job: Job,
  to: TrainingJobStatus,
): Job {
  if (!successors[job.status].includes(to)) throw new TransitionError(job.id, job.status, to);
  return { ...job, status: to };
}
