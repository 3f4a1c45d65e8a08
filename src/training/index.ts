export type {
  DatasetNotice,
  EpochEnd,
  TrainingPhase,
  TrainingProgress,
  TrainingRunEvent,
} from './training-events.js';
export { createTrainingHost, type TrainingIsolation } from './training-host.js';
export type { TrainingHost, TrainingRunOptions, TrainingSpec } from './training-run.js';
