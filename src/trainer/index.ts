export type { Clock } from './clock.js';
export type { JobInformation } from './job-information.js';
export type { JobError, JobRecord } from './job-record.js';
export { JobRepository } from './job-repository.js';
export { type SignalOptions, Trainer } from './trainer.js';
export type { TrainerOptions } from './trainer-options.js';
export type { StateEvent, TrainingEvent } from './training-event.js';
