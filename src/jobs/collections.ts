/*
 * All collections of records that a storage has, since erasing an account visits each. Every key is an account's name
 * or begins with it and a "/" (accountKey). A new collection needs a place in one of the lists at the end.
 */

export const JOBS = 'jobs';
/** Which jobs are in which listing. */
export const JOB_INDEX = 'job-index';
/** What is left of damaged records of jobs, under the same keys. */
export const DAMAGED_JOBS = 'damaged-jobs';
/** When models were used last. */
export const MODEL_USES = 'model-uses';
/** The requests that came with an idempotency key. */
export const JOB_REQUESTS = 'job-requests';
/** Who runs an account's jobs. */
export const JOB_LEASES = 'job-leases';
/** The inference calls that accounts have made. */
export const QUOTA = 'quota';
/** The datasets that accounts have sent; each also has a folder. */
export const UPLOADS = 'uploads';

/** The records of one job, whose keys end in its id, apart from the job itself. */
export const OF_A_JOB = [JOB_INDEX, DAMAGED_JOBS, MODEL_USES] as const;
/** What a copy of the storage has. Leases stay behind, as no process works on the copy yet; jobs come last. */
export const COPIED = [...OF_A_JOB, JOB_REQUESTS, QUOTA, UPLOADS, JOBS] as const;
/** The records of an account as a whole, apart from its lease, which others may hold, and uploads, which have folders. */
export const OF_AN_ACCOUNT = [JOB_REQUESTS, QUOTA] as const;
