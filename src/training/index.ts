export type { Tuning } from './hyperparameters.js';
export type {
  BlendNotice,
  DatasetNotice,
  EpochEnd,
  TrainingPhase,
  TrainingProgress,
  TrainingRunEvent,
} from './training-events.js';
export { createTrainingHost, type TrainingIsolation } from './training-host.js';
export type { TrainingHost, TrainingRunOptions, TrainingSpec } from './training-run.js';
