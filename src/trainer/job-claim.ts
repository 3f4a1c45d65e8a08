import { randomUUID } from 'node:crypto';
import { AbortedError } from '../errors.js';
import { hasEnded, type JobRecord, type JobRepository } from '../jobs/index.js';
import { claimed } from './attempts.js';

/**
 * One run's right to write a job's record. The record names the run that claimed it last; every write of a run is
 * conditional on that name, so one that lost its lease and comes back later, at whatever point, changes nothing.
 */
export class JobClaim {
  readonly #jobs: JobRepository;
  readonly #id: string;
  readonly #token = randomUUID();
  #isLost = false;

  constructor(jobs: JobRepository, id: string) {
    this.#jobs = jobs;
    this.#id = id;
  }

  /** Whether another run was seen to have claimed the job, or the job to have ended otherwise than by this run. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /**
   * Claims a job, unless it was claimed or has ended since it was found. Only a run that held the lease *after* it found
   * the job may call this: a successor's claim then shows as a change.
   * @param checkpoint the mark of the one that this run begins with.
   * @returns the job as claimed; undefined where it is no longer as it was found. @throws NotFoundError, StorageError
   */
  async take(found: JobRecord, checkpoint: string | null): Promise<JobRecord | undefined> {
    const job = await this.#jobs.update(this.#id, (now) =>
      now.claim === found.claim && !hasEnded(now.status)
        ? { ...claimed(now, checkpoint), claim: this.#token }
        : now,
    );
    return job.claim === this.#token ? job : undefined;
  }

  /** Writes what `change` returns for the job. @throws AbortedError where the claim is lost, NotFoundError, StorageError */
  update(change: (job: JobRecord) => JobRecord): Promise<JobRecord> {
    return this.#jobs.update(this.#id, (job) => {
      this.#check(job);
      return change(job);
    });
  }

  /** @throws AbortedError where the claim is lost, NotFoundError, StorageError */
  async require(): Promise<void> {
    this.#check(await this.#jobs.get(this.#id));
  }

  #check({ claim }: JobRecord): void {
    if (claim === this.#token) return;
    this.#isLost = true;
    throw new AbortedError(`training job ${this.#id}`);
  }
}
