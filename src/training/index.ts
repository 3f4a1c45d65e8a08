export { type Backbone, readBackbone, readTokenizer } from './backbone.js';
export {
  type BackboneSource,
  backboneLoader,
  ENCODER_FILES,
  type LoaderOf,
  loadBackbone,
  MODULES_FILE,
  namedFiles,
} from './backbone-files.js';
export { type AskableModel, askableFolder } from './checkpoint.js';
export { checkpointMark } from './checkpoint-mark.js';
export { type CopiedWeights, convertFolder, writePairEncoder, writeSentenceEncoder } from './convert-folder.js';
export { frozenBackbone, learningOptions, trainedHead } from './frozen-backbone.js';
export {
  type AdapterTuning,
  type Effort,
  type Hyperparameters,
  isLanguage,
  languageName,
  languageNames,
  resolveHyperparameters,
  type Tuning,
  trainingLanguage,
} from './hyperparameters.js';
export { unfamiliarTexts } from './known-texts.js';
export { createTrainingHost, RunnerDeathError, type TrainingIsolation } from './training-host.js';
export {
  type BackboneDownload,
  type BlendNotice,
  type CheckpointNotice,
  type DatasetNotice,
  type DatasetSource,
  type DeviceNotice,
  deviceWarning,
  type EpochEnd,
  PHASES,
  type TrainingHost,
  type TrainingPhase,
  type TrainingPlan,
  type TrainingProgress,
  type TrainingRunEvent,
  type TrainingRunOptions,
  type TrainingSpec,
} from './training-run.js';
