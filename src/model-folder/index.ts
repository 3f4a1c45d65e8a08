export { decodeWeights, encodeByteRows } from './byte-rows.js';
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
} from './evaluation.js';
export * from './files.js';
export { roundedToFloat16 } from './float16.js';
export { type ModelFolderConfig, modelFolderConfigSchema } from './model-config.js';
export {
  type ModelFolder,
  type OpenedModelFolder,
  openModelFolder,
  writeModelFolder,
} from './model-folder.js';
export { type ModelReport, readModelReport } from './read-model-report.js';
export {
  decodeSafetensors,
  encodeSafetensors,
  type IntegerTensor,
  type NamedTensor,
  type Safetensors,
} from './safetensors.js';
export {
  type RecordedPart,
  type RecordedPrecision,
  type TrainingRecord,
  trainingRecordSchema,
} from './training-record.js';
