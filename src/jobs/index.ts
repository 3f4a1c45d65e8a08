export { type JobError, type JobRecord, newJobRecord, toJobError } from './job-record.js';
export { JobRepository } from './job-repository.js';
export { canReach, hasEnded, isWaiting, moved } from './job-states.js';
export { type ReadyModel, readyModel } from './ready-model.js';
export { ReadyModels } from './ready-models.js';
export { stored } from './stored.js';
