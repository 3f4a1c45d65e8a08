export type { ErasedAccount } from './account-erasure.js';
export { accountKey, JOBS, LABELLING, QUOTA, recordPages } from './account-records.js';
export type { StateEvent, TrainingEvent } from './job-events.js';
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
export {
  type BlendFigures,
  hasEnded,
  type JobError,
  type JobInformation,
  type JobRecord,
  moved,
  newJobRecord,
  tuningSchema,
} from './job-record.js';
export { JobRepository, viewsOf } from './job-repository.js';
export { JobRunner, type JobRunnerOptions } from './job-runner.js';
export { ModelUses, type UnusedModel, type UnusedOptions } from './model-uses.js';
export { ModelVersions, type ModelVersionsOptions, type RollbackOptions } from './model-versions.js';
export {
  type CopiedStorage,
  type CopyStorageOptions,
  copyStorage,
  type EraseAccountOptions,
  eraseAccount,
  listUnusedModels,
  type OperatorOptions,
  removeUnusedModels,
} from './operator.js';
export { isGone, ReadyModels, readyModel } from './ready-models.js';
export { addCounts, noCounts, ShadowCountRecords, type ShadowCounts } from './shadow-counts.js';
export { type CreateJobOptions, Trainer } from './trainer.js';
export { defaultMemoryLimit, type TrainerOptions } from './trainer-options.js';
export { type StoredUpload, UPLOADED_ZIP, UploadRecords, uploadFolder, uploadIn, uploadUrl } from './upload-records.js';
export { type NamedModel, type PointedModel, VersionNames } from './version-records.js';
