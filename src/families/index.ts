export { type Decision, expectedCalibrationError } from './calibration-error.js';
export { figuresOf, share } from './class-figures.js';
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
export { encodePassages, PASSAGES_FILE, POSTINGS_FILE, VECTORS_FILE } from './dragonfruit/passage-files.js';
export { meanOfRows, unitVector } from './dragonfruit/unit-vector.js';
export { ExplainedText, MAX_EXPLAINED_CHARACTERS } from './explained-text.js';
export {
  type ExplainedAnswer,
  type ExplainedWord,
  type Explainer,
  type Explanation,
  type ExplanationChoice,
  type JudgedResult,
  MAX_LEFT_OUT,
  type MatchedWord,
  type ModelResult,
} from './explanation.js';
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
export { sentenceWithEntities, taggedSentence } from './grapefruit/tagged-sentence.js';
export { sentencePlaces, sentenceText } from './grapefruit/word-pieces.js';
export { confusionOf, type JudgedLabels, labelMistake } from './judged-labels.js';
export { type ClassificationType, classificationTypes } from './papaya/classification-dataset.js';
export { classificationScores } from './papaya/classification-scores.js';
export { classificationTask } from './papaya/classification-task.js';
export { withoutPunctuation, withSlips } from './papaya/typing.js';
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
export {
  type CheckedRowSets,
  type Dataset,
  DEFAULT_DEV_FRACTION,
  type RowSets,
} from './row-sets.js';
export { transformersUsage } from './transformers-usage.js';
export { splitWords } from './words.js';
