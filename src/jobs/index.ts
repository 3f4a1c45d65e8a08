export { accountKey, accountsWithJobs, idIn, keysOfAccount } from './account-records.js';
export {
  JOB_LEASES,
  JOBS,
  OF_A_JOB,
  OF_AN_ACCOUNT,
  QUOTA,
  UPLOADS,
} from './collections.js';
export { type CopiedStorage, type CopyStorageOptions, copyStorage } from './copy-storage.js';
export { viewsOf } from './job-index.js';
export {
  type AnyJobHandler,
  type JobHandler,
  type JobLease,
  type JobOutcome,
  type JobQueue,
  JobStop,
  type JobWorker,
  type QueuedJob,
  type SharedJobQueue,
  type StopReason,
} from './job-queue.js';
export { type CreateJobQueueMedium, type JobQueueMedium, jobQueueContract } from './job-queue-contract.js';
export {
  type BlendFigures,
  type JobError,
  type JobRecord,
  newJobRecord,
  toJobError,
  tuningSchema,
} from './job-record.js';
export { JobRepository } from './job-repository.js';
export { JobRequests } from './job-requests.js';
export { canReach, hasEnded, isWaiting, moved } from './job-states.js';
export { noteWrite, onWrite, type WriteListener } from './job-writes.js';
export { ModelUses } from './model-uses.js';
export { type ReadyModel, ReadyModels, readyModel } from './ready-models.js';
export type { StoredJob } from './stored-job.js';
export {
  type StoredUpload,
  UPLOADED_ZIP,
  UploadRecords,
  uploadFolder,
  uploadIn,
  uploadUrl,
} from './upload-records.js';
