export {
  type ArchiveOptions,
  type ArchiveSummary,
  type ClassificationArchiveOptions,
  type ClassificationArchiveSummary,
  type ConllFile,
  createClassificationArchive,
  createRetrievalArchive,
  createSequenceArchive,
  type QuestionFile,
  type QuestionRow,
  type QuestionSource,
  type RetrievalArchiveOptions,
  type RetrievalArchiveSummary,
  type RowSource,
  type SequenceArchiveOptions,
  type SequenceArchiveSummary,
  type SequenceRow,
  type SequenceSource,
  type SourceFile,
  type SourceRow,
} from './create-archives.js';
export { encodePassages, PASSAGES_FILE, POSTINGS_FILE, VECTORS_FILE } from './dragonfruit/passages.js';
export { meanOfRows, unitVector } from './dragonfruit/unit-vector.js';
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
  FamilyRows,
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
export { entityScores } from './grapefruit/evaluation.js';
export { sequenceTypes } from './grapefruit/sequence-dataset.js';
export { sentenceWithEntities, taggedSentence } from './grapefruit/tagged-sentence.js';
export { sentencePlaces, sentenceText } from './grapefruit/word-pieces.js';
export { withoutPunctuation, withSlips } from './papaya/augmentation.js';
export { type ClassificationType, classificationTypes } from './papaya/classification-dataset.js';
export { classificationScores } from './papaya/evaluation.js';
export { classificationTask } from './papaya/training.js';
export { type CheckedRowSets, type Dataset, DEFAULT_DEV_FRACTION, type RowSets } from './row-sets.js';
export { splitWords } from './words.js';
