import { setTimeout as delay } from 'node:timers/promises';
import { type Device, isOrchardError, TrainingError } from '../contract/index.js';
import { PHASES, RunnerDeathError, type TrainingPhase } from '../training/index.js';
import { type JobRecord, moved } from './job-record.js';

/*
 * Retries: a run repeats a call while the storage can't be reached ({@link withRetry}). A job whose process died is run
 * again, at most {@link MAX_DEATHS} times in all if the process that started it lived on, and {@link MAX_HOST_DEATHS}
 * times in all if it died too, because then something else may have ended both. Progress resets the counts.
 */

const MAX_DEATHS = 3;
/** Of a run in a thread, whose crash ends its host as well. */
const MAX_HOST_DEATHS = 10;
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

/** @throws TrainingError if the job ended its host too often */
export function requireAttempt({ id, attempts }: JobRecord): void {
  if (attempts === undefined || attempts.count <= MAX_HOST_DEATHS) return;
  throw new TrainingError(
    `training job ${id} failed: the process that trained it ended ${MAX_HOST_DEATHS} times without progress; find out why it ends, then create the job again`,
  );
}

/** Counts the deaths of a job's own process while its host lived. */
export class OwnDeaths {
  readonly #id: string;
  #count = 0;
  #furthest = -1;
  #phase: TrainingPhase | undefined;
  #checkpoint: string | null;

  /** @param checkpoint the mark of the checkpoint that the first run begins with. */
  constructor(id: string, checkpoint: string | null) {
    this.#id = id;
    this.#checkpoint = checkpoint;
  }

  /** The run came to a phase; one that no run came to before is progress. */
  note(phase: TrainingPhase): void {
    this.#phase = phase;
    const at = PHASES.indexOf(phase);
    if (at <= this.#furthest) return;
    this.#furthest = at;
    this.#count = 0;
  }

  /** @throws TrainingError, after three deaths without progress, with what was seen; others than deaths at once */
  add(thrown: unknown, checkpoint: string | null): void {
    if (!(thrown instanceof RunnerDeathError)) throw thrown;
    this.#count = checkpoint === this.#checkpoint ? this.#count + 1 : 1;
    this.#checkpoint = checkpoint;
    if (this.#count < MAX_DEATHS) return;
    const where = this.#phase === undefined ? 'before training began' : `in the phase ${this.#phase}`;
    throw new TrainingError(
      `training job ${this.#id} failed: its process died ${MAX_DEATHS} times without progress, last ${where} (${thrown.message}); if it ran out of memory, train on less data, a smaller model or shorter texts, or on a machine with more memory`,
      { cause: thrown },
    );
  }
}
