export type { AdapterTuning } from './adapter-tuning.js';
export { type Backbone, readBackbone } from './backbone.js';
export { type BackboneSource, backboneLoader, type LoaderOf, loadBackbone } from './backbone-files.js';
export { checkpointMark } from './checkpoint-mark.js';
export { type CopiedWeights, convertFolder } from './convert-folder.js';
export { deviceWarning } from './device-warnings.js';
export { frozenBackbone, learningOptions, trainedHead } from './frozen-backbone.js';
export { type Hyperparameters, resolveHyperparameters, type Tuning, trainingLanguage } from './hyperparameters.js';
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
