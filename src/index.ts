/** Orchard: train and run text models inside a Node application. */
export {
  type Account,
  type FamilyName,
  type InferenceMetadata,
  type InferenceResponse,
  type InferenceResult,
  type ListFilter,
  MAX_BATCH_QUERIES,
  type ModelConfig,
  type ModelRecord,
  type ModelSize,
  type ModelType,
  modelSizeSchema,
  modelTypeSchema,
  type Page,
  type Pagination,
  type TrainingConfig,
  type TrainingJobInformation,
  type TrainingJobStatus,
  type TrainingRequest,
  type TrainingStats,
} from './contract/index.js';
export {
  type DatasetLocation,
  type DatasetWarning,
  type DatasetWarningKind,
  MAX_WARNING_EXAMPLES,
} from './datasets/index.js';
export * from './errors.js';
export type { Blend, PartFigures } from './families/index.js';
export {
  type ClassificationArchiveOptions,
  type ClassificationArchiveSummary,
  type ClassificationType,
  classificationTypes,
  createClassificationArchive,
  DEFAULT_DEV_FRACTION,
  type RowSource,
  type SourceFile,
  type SourceFormat,
  type SourceRow,
} from './families/index.js';
export { Predictor, type PredictorOptions } from './predictor/index.js';
export {
  fileStorage,
  type JsonValue,
  type ListOptions,
  memoryStorage,
  type Storage,
  type StoredRecord,
  type Version,
  VersionConflict,
  type Versioned,
} from './storage/index.js';
export * from './trainer/index.js';
export type {
  BlendNotice,
  DatasetNotice,
  EpochEnd,
  TrainingIsolation,
  TrainingPhase,
  TrainingProgress,
  TrainingRunEvent,
  Tuning,
} from './training/index.js';
