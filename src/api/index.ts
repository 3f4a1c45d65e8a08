export {
  type Answer,
  type AnswerExplanation,
  type AnswerOf,
  type AnswerReading,
  type AnswerTo,
  type AnswerToType,
  answerReading,
  type EntityAnswer,
  type FoundEntity,
  type LabelAnswer,
  type LabelIn,
  labelsOf,
  type PassageAnswer,
  type ReadText,
  type ScoredLabel,
  type ScoredPassage,
  toAnswer,
} from './answers.js';
export {
  type CheckDataOptions,
  type ConflictingRows,
  type ConfusedLabels,
  checkData,
  type DataCheck,
  type DuplicateRows,
  type LabelCount,
  type LabelErrors,
  type LeakedText,
  type RowPlace,
} from './check-data.js';
export {
  type CrossValidateOptions,
  type CrossValidation,
  crossValidate,
  type FoldFigure,
  type FoldSummary,
  type OutOfFoldAnswer,
} from './cross-validate.js';
export {
  type Difference,
  type DistillationSummary,
  type DistillEvent,
  type DistilledModel,
  type DistillOptions,
  distill,
  type LabelAgreement,
  type MeasuredShare,
  type ModelCost,
  type ModelTeacher,
  type TaughtEntities,
  type TaughtEntity,
  type TaughtPassage,
  type Teacher,
  type TeacherAnswer,
  type TeacherCall,
  type TeacherFunction,
  type TeachingProgress,
  type UnusableAnswer,
} from './distill.js';
export type { BaselineOptions, DriftOptions } from './drift.js';
export type {
  AverageFigures,
  EntityEvaluation,
  EvaluateOptions,
  Evaluation,
  EvaluationOf,
  Interval,
  LabelEvaluation,
  PassageEvaluation,
  UnknownLabel,
} from './evaluate.js';
export {
  type EvaluationFigure,
  type EvaluationReportOptions,
  evaluationFigures,
  evaluationReport,
} from './evaluation-report.js';
export type { DoubtfulRow } from './label-errors.js';
export type {
  LearnOptions,
  Model,
  ModelText,
  ModelTexts,
  SummaryParts,
  TextPair,
  TrainedModel,
  TrainingSummary,
  TunedModel,
} from './model.js';
export { type ExportOptions, exportModel, type LoadModelOptions, loadModel } from './open-model.js';
export type { RedactedEntity, RedactedText, Replacements } from './redact.js';
export { type NumberRange, type SearchSpace, spaceSchema, type TrialSettings } from './search-space.js';
export { centralTexts, type SuggestedText, type SuggestOptions, suggestTexts } from './suggest-texts.js';
export { type TrainOptions, train } from './train.js';
export { readUnlabelled } from './training/read-apart.js';
export { type Trial, type TrialRun, type TrialStatus, type TuneOptions, type TuningSummary, tune } from './tune.js';
