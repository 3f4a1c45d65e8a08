export type {
  Answer,
  AnswerExplanation,
  AnswerOf,
  AnswerTo,
  EntityAnswer,
  FoundEntity,
  LabelAnswer,
  PassageAnswer,
  ReadText,
  ScoredLabel,
  ScoredPassage,
} from './answers.js';
export { type AnswerReading, toAnswer } from './answers.js';
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
export type {
  AverageFigures,
  EntityEvaluation,
  EvaluateOptions,
  Evaluation,
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
export type { LearnOptions, Model, SummaryParts, TrainedModel, TrainingSummary, TunedModel } from './model.js';
export { type ExportOptions, exportModel, type LoadModelOptions, loadModel } from './open-model.js';
export { type NumberRange, type SearchSpace, spaceSchema, type TrialSettings } from './search-space.js';
export { centralTexts, type SuggestedText, type SuggestOptions, suggestTexts } from './suggest-texts.js';
export { type TrainOptions, train } from './train.js';
export { type Trial, type TrialRun, type TrialStatus, type TuneOptions, type TuningSummary, tune } from './tune.js';
