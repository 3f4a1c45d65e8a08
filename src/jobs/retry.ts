import { setTimeout as delay } from 'node:timers/promises';
import { type Device, isOrchardError, TrainingError } from '../contract/index.js';
import { type JobRecord, moved } from './job-record.js';

/*
 * Retries: a run repeats a call while the storage can't be reached ({@link withRetry}), and a job whose process died is
 * run again, at most {@link MAX_ATTEMPTS} times without progress.
 */

/** A job whose process has died this often, each time without progress, is not run again. */
const MAX_ATTEMPTS = 3;
const UNAVAILABLE_PAUSE_MS = 1_000;

/** Repeats `work` while the storage can't be reached, so that a short outage costs no work; until the signal fires. */
export async function withRetry<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (thrown) {
      if (!isUnavailable(thrown) || signal.aborted) throw thrown;
    }
    await delay(UNAVAILABLE_PAUSE_MS);
  }
}

export function isUnavailable(thrown: unknown): boolean {
  return isOrchardError(thrown) && thrown.code === 'storage' && thrown.isUnavailable;
}

/**
 * The job as the run that claims it records it: RUNNING, with one attempt more, unless it has ended. A job left
 * RUNNING by an earlier run stays so, as does one whose attempt has just failed because of its device.
 * @param checkpoint the mark of the checkpoint that this run begins with.
 */
export function claimed(job: JobRecord, checkpoint: string | null): JobRecord {
  if (job.status === 'CREATED') return claimed(moved(job, 'QUEUED'), checkpoint);
  if (job.status === 'QUEUED') return { ...moved(job, 'RUNNING'), attempts: { count: 1, checkpoint } };
  if (job.status !== 'RUNNING') return job;
  const { count, checkpoint: before } = job.attempts ?? { count: 1, checkpoint: null };
  return { ...job, attempts: { count: before === checkpoint ? count + 1 : 1, checkpoint } };
}

/** Whether the process that ran a job on a device died without progress: the device may be why. */
export function mayDieOfDevice({ attempts }: JobRecord, device: Device): boolean {
  return device !== 'cpu' && attempts !== undefined && attempts.count > 1;
}

export function withoutAttempt(job: JobRecord): JobRecord {
  if (job.status !== 'RUNNING' || job.attempts === undefined) return job;
  const { count, checkpoint } = job.attempts;
  return { ...job, attempts: { count: Math.max(0, count - 1), checkpoint } };
}

export function requireAttempt({ id, attempts }: JobRecord): void {
  if (attempts === undefined || attempts.count <= MAX_ATTEMPTS) return;
  throw new TrainingError(
    `training job ${id} was given up: the process that ran it died ${MAX_ATTEMPTS} times without progress; most likely there is less memory than it needs, so train on less data, a smaller model or shorter texts, or on a machine with more memory`,
  );
}
