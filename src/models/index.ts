export {
  type CatalogueKind,
  catalogueBackbones,
  catalogueModels,
  type FoundModel,
  findModel,
  pulledModels,
} from './catalogue-models.js';
export {
  CARD_FILE,
  CONFIG_FILE,
  EVALUATION_FILE,
  EXPERT_FILE,
  MAX_CONFIG_BYTES,
  ONNX_FILE,
  QUANTIZED_ONNX_FILE,
  readFolderFile,
  readJsonText,
  SENTENCE_FILE,
  SHARDS_FILE,
  TOKENIZER_CONFIG_FILE,
  TOKENIZER_FILE,
  TRAINING_FILE,
  WEIGHTS_FILE,
} from './folder-files.js';
export { type HubOptions, hubModels } from './hub-models.js';
export { listedMistakes, MAX_MISTAKE_CHARACTERS, MAX_MISTAKES } from './mistakes.js';
export {
  type Aggregation,
  aggregations,
  type BlendWeights,
  type Evidence,
  type ModelFolderConfig,
  modelFolderConfig,
  type PairConfig,
  POOLING_MODES,
  type PoolingMode,
  readConfig,
  SENTENCE_ACTIVATIONS,
  type SentenceActivation,
  type SentenceConfig,
  type SentenceLayer,
  SIMILARITIES,
} from './model-config.js';
export {
  claimFolder,
  copyInto,
  moveInto,
  openModelFolder,
  writeFolder,
  writeModelFolder,
} from './model-folder.js';
export {
  folderModels,
  isDirectory,
  type LoadedModel,
  type LoadOptions,
  type ModelLoader,
  type ModelProgress,
} from './model-loader.js';
export {
  type Calibration,
  type CalibrationBin,
  type ClassFigures,
  type Confusion,
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
export { memoryOfFolder, memoryOfModel } from './model-size.js';
export {
  type FileProblem,
  type ListedModel,
  listModels,
  type PulledModel,
  type PulledPlace,
  type PullOptions,
  pullModel,
  type VerifiedModel,
  verifyModel,
} from './pull-model.js';
export {
  decodeSafetensors,
  decodeWeights,
  encodeByteRows,
  encodeSafetensors,
  fromFloat16Bits,
  type IntegerTensor,
  type NamedTensor,
  roundedToFloat16,
  safetensorsPieces,
} from './safetensors.js';
