/** Orchard: train and run text models inside a Node application. */
export {
  type Account,
  type FamilyName,
  type InferenceMetadata,
  type InferenceResponse,
  type InferenceResult,
  type InferenceUsage,
  type ListFilter,
  MAX_BATCH_QUERIES,
  MAX_MEDLEY_QUERIES,
  type MedleyBatchRequest,
  type MedleyRequest,
  type ModelConfig,
  type ModelRecord,
  type ModelSize,
  type ModelType,
  modelSizeSchema,
  modelTypeSchema,
  type Page,
  type Pagination,
  type PretrainedModelName,
  pretrainedModelNames,
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
  type ConllFile,
  classificationTypes,
  createClassificationArchive,
  createRetrievalArchive,
  createSequenceArchive,
  DEFAULT_DEV_FRACTION,
  type QuestionFile,
  type QuestionRow,
  type QuestionSource,
  type RecordFile,
  type RetrievalArchiveOptions,
  type RetrievalArchiveSummary,
  type RowSource,
  type SequenceArchiveOptions,
  type SequenceArchiveSummary,
  type SequenceRow,
  type SequenceSource,
  type SourceFile,
  type SourceFormat,
  type SourceRow,
  sequenceTypes,
} from './families/index.js';
export {
  type CallOptions,
  type InferenceService,
  inferenceService,
  type Predictions,
  type RunOptions,
  type ServiceOptions,
} from './inference/index.js';
export {
  Medley,
  type MedleyAnswers,
  type MedleyFailure,
  type MedleyOptions,
} from './medley/index.js';
export {
  catalogueBackbones,
  catalogueModels,
  folderModels,
  type HubOptions,
  hubModels,
  type LoadedModel,
  type LoadOptions,
  type ModelLoader,
  type ModelProgress,
} from './model-loader/index.js';
export type { Fetch } from './network/index.js';
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
  BackboneDownload,
  BlendNotice,
  DatasetNotice,
  EpochEnd,
  TrainingIsolation,
  TrainingPhase,
  TrainingProgress,
  TrainingRunEvent,
  Tuning,
} from './training/index.js';
