/** Identifies a job. Ids are UUIDs of version 7, which sort by the time of their creation. */
export interface QueuedJob {
  /** The account that it belongs to. */
  readonly app_id: string;
  readonly id: string;
}

/**
 * Why a handler has to stop: its job was cancelled; its worker closes, and another one will resume the job; or
 * its lease is lost, since heartbeats failed or came too late, and another worker may already run the job.
 */
export type StopReason = 'cancelled' | 'closing' | 'lost';

/** The exclusive right to run one job. The queue keeps it alive by heartbeats. */
export interface JobLease {
  /** The job's id. */
  readonly id: string;
  /** Fires when the handler has to stop; `stopReason` says why. */
  readonly signal: AbortSignal;
  /** The first reason given, though `lost` replaces any other. Undefined until the signal fires. */
  readonly stopReason: StopReason | undefined;
  /**
   * Sends a heartbeat now, before an action that only the holder of the lease may take.
   * @returns false if the lease is lost. If the medium fails, the lease is lost only when it would have expired.
   */
  renew(): Promise<boolean>;
}

/** What a handler resolves to: `ended` takes the job out of the queue, `left` keeps it there to be handed out again. */
export type JobOutcome = 'ended' | 'left';

/** Runs one job. A rejection counts as `left`. */
export type JobHandler = (lease: JobLease) => Promise<JobOutcome>;

/** Hands the jobs of one account to a handler, as long as it is open. */
export interface JobWorker {
  /**
   * Hands out nothing more and stops a running handler; resolves when the handler has returned. The job that it leaves is
   * at once free for another worker. Idempotent.
   */
  close(): Promise<void>;
}

/**
 * Decides which process runs which job when, among all processes that share its medium. The state of a job is in the
 * job's record in the storage, not in the queue; the queue forgets a job that has `ended`.
 *
 * The jobs of one account are handed out one at a time, over all workers: first one that a worker left or whose process
 * died, then the oldest. No job runs twice at the same time. Jobs of different accounts run concurrently.
 *
 * Implementations pass `jobQueueContract` from `orchard-nlp/testing`. If the medium fails, `add` and `cancel` reject
 * with an `Error`, while a worker retries on its own.
 */
export interface JobQueue {
  /** The version of this interface. */
  readonly specificationVersion: 1;

  /** Adds a job. Nothing changes, and it is no error, if the queue has it already, waiting or running. */
  add(job: QueuedJob): Promise<void>;

  /**
   * Takes out a waiting job, which is then never handed out, or stops the handler of a running one within seconds, in
   * any process. If that process has died, the job is handed out once more, with its signal already fired. No error if
   * the queue doesn't have the job.
   */
  cancel(job: QueuedJob): Promise<void>;

  /** Begins to hand this account's jobs to the handler, including those already in the queue. Never throws. */
  work(app_id: string, handler: JobHandler): JobWorker;

  /** Closes the open workers and releases what the queue holds. The jobs stay. Idempotent. */
  close(): Promise<void>;
}

/** Runs one job of any account. A rejection counts as `left`. */
export type AnyJobHandler = (app_id: string, lease: JobLease) => Promise<JobOutcome>;

/** A queue that also hands the jobs of all accounts to one handler, for processes that train for every account. */
export interface SharedJobQueue extends JobQueue {
  /**
   * Begins to hand the jobs of all accounts to the handler, up to `atOnce` at the same time: accounts in turn, and one
   * job of an account at a time, as with {@link JobQueue}. Never throws.
   */
  workForAll(handler: AnyJobHandler, options: { readonly atOnce: number }): JobWorker;
}

/** Stops the handler of a job. The first reason counts, but `lost` replaces any other. */
export class JobStop {
  readonly #controller = new AbortController();
  #reason: StopReason | undefined;

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get stopReason(): StopReason | undefined {
    return this.#reason;
  }

  stop(reason: StopReason): void {
    if (this.#reason === undefined || reason === 'lost') this.#reason = reason;
    this.#controller.abort();
  }
}
