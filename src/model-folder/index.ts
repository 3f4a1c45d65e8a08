export type { UsageTerms } from '../usage-terms.js';
export {
  type Calibration,
  type CalibrationBin,
  type ClassFigures,
  type Confusion,
  listedMistakes,
  MAX_MISTAKE_CHARACTERS,
  MAX_MISTAKES,
  type Mistake,
  type ModelEvaluation,
  modelEvaluationSchema,
  type WeighedWord,
} from './evaluation.js';
export * from './files.js';
export { readConfig, readFolderFile } from './folder-file.js';
export {
  type BlendWeights,
  type Evidence,
  type ModelFolderConfig,
  modelFolderConfig,
} from './model-config.js';
export {
  type ModelFolder,
  type OpenedModelFolder,
  openModelFolder,
  writeModelFolder,
} from './model-folder.js';
export { type ModelReport, readModelReport } from './read-model-report.js';
export {
  type RecordedPart,
  type RecordedPrecision,
  type TrainingRecord,
  trainingRecordSchema,
} from './training-record.js';
