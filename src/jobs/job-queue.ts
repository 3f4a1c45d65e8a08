/** Which job: whose, and which of theirs. Ids are UUIDs that sort by the time they were made (version 7). */
export interface QueuedJob {
  /** The account that it belongs to. */
  readonly app_id: string;
  readonly id: string;
}

/**
 * Why a handler is to stop: somebody cancelled its job; its worker closes, and the job is another's to go on with; or the
 * lease is lost, since heartbeats failed or came too late, and another worker may run the job already.
 */
export type StopReason = 'cancelled' | 'closing' | 'lost';

/** The right to run one job, which no other worker has meanwhile. The queue keeps it alive by heartbeats. */
export interface JobLease {
  /** Of the job. */
  readonly id: string;
  /** Fires when the handler is to stop; `stopReason` says why. */
  readonly signal: AbortSignal;
  /** The first reason there was, but `lost` replaces any other. Undefined until the signal fires. */
  readonly stopReason: StopReason | undefined;
  /**
   * A heartbeat now, before something that only one may do.
   * @returns false where the lease is lost. A medium that fails loses it only when it would have run out.
   */
  renew(): Promise<boolean>;
}

/** What a handler leaves: `ended` takes the job out of the queue, `left` keeps it there to be handed out again. */
export type JobOutcome = 'ended' | 'left';

/** Runs one job. A rejection counts as `left`. */
export type JobHandler = (lease: JobLease) => Promise<JobOutcome>;

/** Hands the jobs of one account to a handler, as long as it is open. */
export interface JobWorker {
  /**
   * Hands out nothing more and stops a handler that runs; resolves when that has returned. What it leaves is any other
   * worker's at once. Idempotent.
   */
  close(): Promise<void>;
}

/**
 * Decides which process runs which job when, over all processes that share its medium. How a job stands is no matter of
 * the queue: its record in the storage says that, and an `ended` job is forgotten here.
 *
 * Of one account, jobs are handed out one at a time over all workers: first one that a worker left or that a process died
 * over, then the oldest. No job runs twice at the same time. Jobs of several accounts run side by side.
 *
 * Implementations pass `jobQueueContract` from `orchard-nlp/testing`. `add` and `cancel` reject with an `Error` where the
 * medium fails; a worker tries again by itself.
 */
export interface JobQueue {
  /** Of this interface. */
  readonly specificationVersion: 1;

  /** Takes a job in. One that is in the queue already, waiting or running, is no error and stays as it is. */
  add(job: QueuedJob): Promise<void>;

  /**
   * Takes a waiting job out, which is then handed to nobody; tells the handler of a running one to stop, wherever it runs,
   * within seconds. Where that handler's process has died, the job is handed out once more, its signal fired already. A
   * job that the queue doesn't have is no error.
   */
  cancel(job: QueuedJob): Promise<void>;

  /** Begins to hand this account's jobs to the handler, those that are in the queue already as well. Never throws. */
  work(app_id: string, handler: JobHandler): JobWorker;

  /** Closes the workers that are open and frees what the queue holds. The jobs stay. Idempotent. */
  close(): Promise<void>;
}
