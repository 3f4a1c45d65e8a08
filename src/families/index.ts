export { DEFAULT_DEV_FRACTION } from './archive-writing.js';
export type { QuestionFile, QuestionRow, QuestionSource } from './dragonfruit/source-questions.js';
export {
  createRetrievalArchive,
  type RetrievalArchiveOptions,
  type RetrievalArchiveSummary,
} from './dragonfruit/write-archive.js';
export type {
  Blend,
  Decoder,
  ExportedOutput,
  Family,
  FinishedTask,
  LongTexts,
  LossHead,
  LossTargets,
  ModelFile,
  ModelFiles,
  PairLoss,
  PairTraining,
  PartFigures,
  Scores,
  TargetOptions,
  TaskDescription,
  TextOutputs,
  TextWindow,
  TrainedExpert,
  TrainingHead,
  TrainingTask,
  WindowOutputs,
} from './family.js';
export { entityTypes } from './grapefruit/bio-tags.js';
export { sequenceTypes } from './grapefruit/sequence-dataset.js';
export type { ConllFile, SequenceRow, SequenceSource } from './grapefruit/source-sentences.js';
export {
  createSequenceArchive,
  type SequenceArchiveOptions,
  type SequenceArchiveSummary,
} from './grapefruit/write-archive.js';
export { OUTPUT_GRADIENTS } from './output-gradients.js';
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
export { familyNamed } from './registry.js';
export type { RecordFile, SourceFormat } from './source-records.js';
