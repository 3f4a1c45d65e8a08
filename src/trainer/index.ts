export type { JobError } from '../jobs/index.js';
export type { Clock } from './clock.js';
export type { JobInformation } from './job-information.js';
export { type CreateJobOptions, type SignalOptions, Trainer } from './trainer.js';
export type { TrainerOptions } from './trainer-options.js';
export type { StateEvent, TrainingEvent } from './training-event.js';
