export { AccountRecords, accountsWithJobs, idIn } from './account-records.js';
export { JOB_LEASES, JOB_QUEUE, JOBS, OF_A_JOB, OF_AN_ACCOUNT, QUOTA, UPLOADS } from './collections.js';
export { type CopiedStorage, type CopyStorageOptions, copyStorage } from './copy-storage.js';
export type {
  AnyJobHandler,
  JobHandler,
  JobLease,
  JobOutcome,
  JobQueue,
  JobWorker,
  QueuedJob,
  SharedJobQueue,
  StopReason,
} from './job-queue.js';
export type { JobQueueMedium } from './job-queue-check.js';
export { type CreateJobQueueMedium, jobQueueContract } from './job-queue-contract.js';
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
export { JobStop } from './job-stop.js';
export { viewsOf } from './job-views.js';
export { noteWrite, onWrite, type WriteListener } from './job-writes.js';
export { ModelUses } from './model-uses.js';
export { type ReadyModel, readyModel } from './ready-model.js';
export { ReadyModels } from './ready-models.js';
export { requireKnownVersion } from './record-version.js';
export { Removals } from './removals.js';
export { stored } from './stored.js';
export type { CreatedJob, StoredJob } from './stored-job.js';
export {
  type StoredUpload,
  UPLOADED_ZIP,
  UploadRecords,
  uploadFolder,
  uploadIn,
  uploadUrl,
} from './upload-records.js';
