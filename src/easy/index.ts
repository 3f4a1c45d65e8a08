/** The front door: a model in one call, over the same jobs and classes as Trainer and Predictor. */
export type {
  Answer,
  AnswerExplanation,
  AnswerOf,
  AnswerTo,
  EntityAnswer,
  FoundEntity,
  LabelAnswer,
  PassageAnswer,
  ScoredLabel,
  ScoredPassage,
} from './answers.js';
export { crossValidate } from './cross-validate.js';
export type { CrossValidateOptions } from './cross-validation/cross-validate-options.js';
export type {
  CrossValidation,
  FoldFigure,
  FoldSummary,
  OutOfFoldAnswer,
} from './cross-validation/cross-validation.js';
export type { DoubtfulRow } from './cross-validation/doubtful-rows.js';
export { type EmbedOptions, embed } from './embed.js';
export type {
  AverageFigures,
  EntityEvaluation,
  EvaluateOptions,
  Evaluation,
  Interval,
  LabelEvaluation,
  PassageEvaluation,
} from './evaluation/index.js';
export { type EvaluationFigure, evaluationFigures } from './evaluation-figures.js';
export { type EvaluationReportOptions, evaluationReport } from './evaluation-report.js';
export { type ExportOptions, exportModel } from './export-model.js';
export { type LoadModelOptions, loadModel } from './load-model.js';
export type { Model, TrainedModel, TunedModel } from './model.js';
export type {
  Columns,
  EntityRange,
  EntityRow,
  LabelledRow,
  MultilabelRow,
  QuestionPassageRow,
  QuestionPassagesRow,
  Rows,
  RowsOrPath,
  TaggedRow,
  TrainingRow,
} from './rows/index.js';
export { contentWords } from './search/content-words.js';
export { PassageWords } from './search/passage-words.js';
export { type Evidence, rankedPassages, rankPassages } from './search/relevance.js';
export type { FoundPassage, SearchCallOptions, SearchIndex } from './search/search-index.js';
export { bestSentences, PassageSentences } from './search/sentences.js';
export { type OpenSearchOptions, openSearch, type SearchOptions, search } from './search.js';
export { suggestTexts } from './suggest-texts.js';
export type { SuggestedText, SuggestOptions } from './suggestions/suggestion.js';
export { train } from './train.js';
export type { TrainOptions } from './training/train-options.js';
export type { SummaryParts, TrainingSummary } from './training/training-summary.js';
export { tune } from './tune.js';
export { type NumberRange, type SearchSpace, spaceSchema, type TrialSettings } from './tuning/space.js';
export type { Trial, TrialRun, TrialStatus, TuningSummary } from './tuning/trial.js';
export type { TuneOptions } from './tuning/tune-options.js';
