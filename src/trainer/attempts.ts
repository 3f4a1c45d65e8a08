import type { Device } from '../device-names.js';
import { TrainingError } from '../errors.js';
import { type JobRecord, moved } from '../jobs/index.js';

/** A job whose process has died this often, each time without having come further, is not run again. */
export const MAX_ATTEMPTS = 3;

/**
 * The job as the run that claims it records it: RUNNING, with one attempt more, unless it has ended. A job left
 * RUNNING by an earlier run stays so, as does one whose attempt has just failed by its device.
 * @param checkpoint the mark of the one that this run begins with.
 */
export function claimed(job: JobRecord, checkpoint: string | null): JobRecord {
  if (job.status === 'CREATED') return claimed(moved(job, 'QUEUED'), checkpoint);
  if (job.status === 'QUEUED') return { ...moved(job, 'RUNNING'), attempts: { count: 1, checkpoint } };
  if (job.status !== 'RUNNING') return job;
  const { count, checkpoint: before } = job.attempts ?? { count: 1, checkpoint: null };
  return { ...job, attempts: { count: before === checkpoint ? count + 1 : 1, checkpoint } };
}

/** Whether the process that ran a job on a device has died without having come further: the device may be why. */
export function mayDieOfDevice({ attempts }: JobRecord, device: Device): boolean {
  return device !== 'cpu' && attempts !== undefined && attempts.count > 1;
}

/** The job without the attempt of a run that is stopped in good order. */
export function withoutAttempt(job: JobRecord): JobRecord {
  if (job.status !== 'RUNNING' || job.attempts === undefined) return job;
  const { count, checkpoint } = job.attempts;
  return { ...job, attempts: { count: Math.max(0, count - 1), checkpoint } };
}

/** @throws TrainingError for a job that has had its attempts. */
export function requireAttempt({ id, attempts }: JobRecord): void {
  if (attempts === undefined || attempts.count <= MAX_ATTEMPTS) return;
  throw new TrainingError(
    `training job ${id} was given up: the process that ran it died ${MAX_ATTEMPTS} times, and no time it had come further than before; most likely there is less memory than it needs, so train on less data, a smaller model or shorter texts, or where there is more memory`,
  );
}
