export { type AnsweringFamily, answering, familyNameOfModel, ruling } from './answering.js';
export {
  type ClassificationType,
  classificationTypes,
  SUM_TOLERANCE,
} from './classification/classification-dataset.js';
export { classificationScores } from './classification/evaluation.js';
export { type Example, logitsOf, trainOnFewRows } from './classification/few-rows.js';
export { classificationTask, withoutPunctuation, withSlips } from './classification/training.js';
export {
  type ArchiveOptions,
  type ArchiveSummary,
  type ArchiveTask,
  type ClassificationArchiveOptions,
  type ClassificationArchiveSummary,
  type ConllFile,
  createClassificationArchive,
  createRetrievalArchive,
  createSequenceArchive,
  makeArchiveWithin,
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
  writeArchiveHere,
} from './create-archives.js';
export { bioConstraints, spansOf } from './entities/bio-tags.js';
export { entityScores } from './entities/evaluation.js';
export { sequenceTypes } from './entities/sequence-dataset.js';
export { answerWithDoubts, meanDoubts, sentenceWithEntities, taggedSentence } from './entities/tagged-sentence.js';
export { sentencePlaces, sentenceText } from './entities/word-pieces.js';
export {
  accuracyInterval,
  confusionOf,
  type Decision,
  expectedCalibrationError,
  figuresOf,
  labelMistake,
  macroF1Of,
  share,
} from './evaluation.js';
export {
  type AnswerDetail,
  type ExplainedAnswer,
  ExplainedText,
  type ExplainedWord,
  type Explainer,
  type Explanation,
  type ExplanationChoice,
  type JudgedResult,
  MAX_LEFT_OUT,
  type MatchedRule,
  type MatchedWord,
  type ModelResult,
} from './explanation.js';
export { families, familyOfModel, familyOfType, taskOf, typeFacts } from './families.js';
export type {
  Blend,
  CardFacts,
  CheckedLabels,
  CheckpointHead,
  ClassNames,
  Decoder,
  DoubtfulLabels,
  Duration,
  Family,
  FamilyRows,
  FamilyTraining,
  FewRowsChoices,
  FewRowsTask,
  FinishedTask,
  JudgedSplit,
  JudgedText,
  Judgement,
  LabelNoise,
  ModelFile,
  ModelFiles,
  PartFigures,
  Scores,
  TaskDescription,
  TrainedExpert,
  TrainedFewRows,
  TrainingTask,
} from './family.js';
export { foldsOf } from './folds.js';
export { encodePassages, PASSAGES_FILE, POSTINGS_FILE, VECTORS_FILE } from './retrieval/passages.js';
export { pooledByGraph } from './retrieval/sentence-vector.js';
export { encodeVectors, meanOfRows, quantizeVector, unitVector, VectorIndex } from './retrieval/vector-index.js';
export {
  type CheckedRowSets,
  type Dataset,
  foldLabel,
  foldText,
  type RowSets,
  readDataset,
  writeDataset,
} from './row-sets.js';
export {
  inRowsThread,
  isSmallFile,
  packRows,
  type RowsThreadLimits,
  serveRows,
  unpackedRows,
  withFewRows,
} from './rows-thread.js';
export {
  outsideOf,
  type RuledAnswers,
  type RuleMatch,
  RuleSet,
  ruledAnswers,
  ruledDecoder,
  ruledEntities,
  ruledScores,
  rulesOfFolder,
  type TimeLimit,
} from './rules.js';
export { softmax } from './softmax.js';
export { splitWords } from './words.js';
