/** Orchard: train and run text models inside a Node application. */
export type {
  FamilyName,
  InferenceMetadata,
  InferenceResponse,
  InferenceResult,
  ListFilter,
  ModelConfig,
  ModelRecord,
  ModelSize,
  ModelType,
  Page,
  Pagination,
  TrainingConfig,
  TrainingJobInformation,
  TrainingJobStatus,
  TrainingRequest,
  TrainingStats,
} from './contract/index.js';
export * from './errors.js';
export {
  type ClassificationArchiveOptions,
  type ClassificationArchiveSummary,
  type ClassificationType,
  classificationTypes,
  createClassificationArchive,
  type RowSource,
  type SourceFile,
  type SourceFormat,
  type SourceRow,
} from './families/index.js';
export { fileStorage, memoryStorage, type Storage } from './storage/index.js';
