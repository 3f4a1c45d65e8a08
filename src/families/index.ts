export { type ArchiveOptions, type ArchiveSummary, DEFAULT_DEV_FRACTION } from './archive-writing.js';
export { encodePassages, PASSAGES_FILE, POSTINGS_FILE, VECTORS_FILE } from './dragonfruit/passage-files.js';
export { meanOfRows, unitVector } from './dragonfruit/sentence-vector.js';
export type { QuestionFile, QuestionRow, QuestionSource } from './dragonfruit/source-questions.js';
export {
  createRetrievalArchive,
  type RetrievalArchiveOptions,
  type RetrievalArchiveSummary,
} from './dragonfruit/write-archive.js';
export type {
  Blend,
  CardFacts,
  ClassNames,
  Decoder,
  Duration,
  ExpertOptions,
  ExportedOutput,
  Family,
  FamilyType,
  FinishedTask,
  LongTexts,
  Metric,
  ModelFile,
  ModelFiles,
  PartFigures,
  Scores,
  TaskDescription,
  TrainedExpert,
  TrainingTask,
} from './family.js';
export { bioConstraints } from './grapefruit/bio-constraints.js';
export { entityScores } from './grapefruit/entity-scores.js';
export { spansOf } from './grapefruit/entity-spans.js';
export { sequenceTypes } from './grapefruit/sequence-dataset.js';
export type { ConllFile, SequenceRow, SequenceSource } from './grapefruit/source-sentences.js';
export {
  createSequenceArchive,
  type SequenceArchiveOptions,
  type SequenceArchiveSummary,
} from './grapefruit/write-archive.js';
export { classificationScores } from './papaya/classification-scores.js';
export { classificationTask } from './papaya/classification-task.js';
export {
  type ClassificationArchiveOptions,
  type ClassificationArchiveSummary,
  type ClassificationType,
  classificationTypes,
  createClassificationArchive,
  type RowSource,
  type SourceFile,
  type SourceRow,
} from './papaya/index.js';
export {
  familyNamed,
  familyOfType,
  type ModelKind,
  modelKind,
  modelTypes,
  registerFamily,
  taskOf,
  typeNamed,
} from './registry.js';
export type { RecordFile, SourceFormat } from './source-records.js';
export { transformersUsage } from './transformers-usage.js';
