export { type ArchiveOptions, type ArchiveSummary, DEFAULT_DEV_FRACTION } from './archive-writing.js';
export { createRetrievalArchive } from './dragonfruit/create-archive.js';
export { encodePassages, PASSAGES_FILE, POSTINGS_FILE, VECTORS_FILE } from './dragonfruit/passages.js';
export {
  type QuestionFile,
  type QuestionRow,
  type QuestionSource,
  readSource as readQuestions,
} from './dragonfruit/source-questions.js';
export { meanOfRows, unitVector } from './dragonfruit/unit-vector.js';
export type { RetrievalArchiveOptions, RetrievalArchiveSummary } from './dragonfruit/write-archive.js';
export {
  confusionOf,
  type Decision,
  expectedCalibrationError,
  figuresOf,
  type JudgedLabels,
  labelMistake,
  share,
} from './evaluation.js';
export {
  type ExplainedAnswer,
  ExplainedText,
  type ExplainedWord,
  type Explainer,
  type Explanation,
  type ExplanationChoice,
  type JudgedResult,
  MAX_EXPLAINED_CHARACTERS,
  MAX_LEFT_OUT,
  type MatchedWord,
  type ModelResult,
} from './explanation.js';
export { families, familyOfModel, familyOfType, taskOf, typeFacts } from './families.js';
export type {
  Blend,
  CardFacts,
  ClassNames,
  Decoder,
  Duration,
  ExpertOptions,
  ExportedOutput,
  Family,
  FamilyTraining,
  FinishedTask,
  LongTexts,
  ModelFile,
  ModelFiles,
  PartFigures,
  Scores,
  TaskDescription,
  TrainedExpert,
  TrainingTask,
  TypeFacts,
} from './family.js';
export { bioConstraints, spansOf } from './grapefruit/bio-tags.js';
export { createSequenceArchive } from './grapefruit/create-archive.js';
export { entityScores } from './grapefruit/evaluation.js';
export { sequenceTypes } from './grapefruit/sequence-dataset.js';
export {
  type ConllFile,
  readSource as readSentences,
  type SequenceRow,
  type SequenceSource,
} from './grapefruit/source-sentences.js';
export { sentencePlaces, sentenceText } from './grapefruit/word-pieces.js';
export type { SequenceArchiveOptions, SequenceArchiveSummary } from './grapefruit/write-archive.js';
export { withoutPunctuation, withSlips } from './papaya/augmentation.js';
export { type ClassificationType, classificationTypes } from './papaya/classification-dataset.js';
export { createClassificationArchive } from './papaya/create-archive.js';
export { classificationScores } from './papaya/evaluation.js';
export {
  type RowSource,
  readSource as readLabelledTexts,
  type SourceFile,
  type SourceRow,
} from './papaya/source-rows.js';
export { classificationTask } from './papaya/training.js';
export type {
  ClassificationArchiveOptions,
  ClassificationArchiveSummary,
} from './papaya/write-archive.js';
export { type RecordFile, readRecords, recordColumns, type SourceFormat } from './source-records.js';
export { splitWords } from './words.js';
