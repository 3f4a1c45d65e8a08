/*
 * The collections of records that a storage has: all of them, since erasing an account visits each. Every key is an
 * account's name or begins with it and a "/" (accountKey). A new collection needs a place in a list at the end.
 */

export const JOBS = 'jobs';
/** Which jobs are in which listing. */
export const JOB_INDEX = 'job-index';
/** The entries of the embedded queue. */
export const JOB_QUEUE = 'job-queue';
/** The deletions under way. */
export const JOB_REMOVALS = 'job-removals';
/** What is left of damaged records of jobs, by the same keys. */
export const DAMAGED_JOBS = 'damaged-jobs';
/** When models were used last. */
export const MODEL_USES = 'model-uses';
/** The requests that came with an idempotency key. */
export const JOB_REQUESTS = 'job-requests';
/** Who runs an account's jobs. */
export const JOB_LEASES = 'job-leases';
/** The inference calls that accounts have made. */
export const QUOTA = 'quota';
/** The datasets that accounts have sent, each with a folder beside its record. */
export const UPLOADS = 'uploads';

/** Those whose records belong to one job, which their keys end in, beside the job itself. */
export const OF_A_JOB = [JOB_INDEX, JOB_QUEUE, JOB_REMOVALS, DAMAGED_JOBS, MODEL_USES] as const;
/** Those whose records a copy of the storage has. Nobody works on it yet, so leases stay behind; jobs come last. */
export const COPIED = [...OF_A_JOB, JOB_REQUESTS, QUOTA, UPLOADS, JOBS] as const;
/** Those whose records belong to the account as a whole, but for its lease, which others may hold, and for uploads, which have folders. */
export const OF_AN_ACCOUNT = [JOB_REQUESTS, QUOTA] as const;
