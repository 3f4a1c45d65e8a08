export type { UsageTerms } from '../usage-terms.js';
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
  type ModelReport,
  modelEvaluationSchema,
  type RecordedPart,
  type RecordedPrecision,
  readModelReport,
  type TrainingRecord,
  trainingRecordSchema,
  type WeighedWord,
} from './model-report.js';
