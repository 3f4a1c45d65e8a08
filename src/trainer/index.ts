export type {
  AnyJobHandler,
  BlendFigures,
  CopiedStorage,
  CopyStorageOptions,
  JobError,
  JobHandler,
  JobLease,
  JobOutcome,
  JobQueue,
  JobWorker,
  QueuedJob,
  SharedJobQueue,
  StopReason,
} from '../jobs/index.js';
export type { ErasedAccount } from './account-erasure.js';
export type { StateEvent, TrainingEvent } from './job-events.js';
export type { JobInformation } from './job-information.js';
export { JobRunner, type JobRunnerOptions } from './job-runner.js';
export { backboneLoader, loadBackbone } from './load-backbone.js';
export {
  copyStorage,
  type EraseAccountOptions,
  eraseAccount,
  listUnusedModels,
  type OperatorOptions,
  removeUnusedModels,
} from './operator.js';
export { type CreateJobOptions, type SignalOptions, Trainer } from './trainer.js';
export type { TrainerOptions } from './trainer-options.js';
export { defaultMemoryLimit } from './trainer-options.js';
export type { UnusedModel, UnusedOptions } from './unused-models.js';
