export type { AdapterTarget } from '../engine/index.js';
export type { AdapterTuning } from './adapter-tuning.js';
export { type Backbone, type BackboneSource, readBackbone } from './backbone.js';
export { BACKBONE_FILES } from './backbone-files.js';
export { checkpointMark, checkpointTime } from './checkpoint-mark.js';
export { type CopiedWeights, convertFolder } from './convert-folder.js';
export { deviceWarning } from './device-warnings.js';
export { type FrozenBackbone, frozenBackbone, learningOptions, trainedHead } from './frozen-backbone.js';
export {
  type Hyperparameters,
  resolveHyperparameters,
  type Tuning,
  trainingLanguage,
} from './hyperparameters.js';
export { writeSentenceEncoder } from './sentence-encoder.js';
export type {
  BackboneDownload,
  BlendNotice,
  CheckpointNotice,
  DatasetNotice,
  DeviceNotice,
  EpochEnd,
  TrainingPhase,
  TrainingPlan,
  TrainingProgress,
  TrainingRunEvent,
} from './training-events.js';
export { createTrainingHost, type TrainingIsolation } from './training-host.js';
export type { DatasetSource, TrainingHost, TrainingRunOptions, TrainingSpec } from './training-run.js';
