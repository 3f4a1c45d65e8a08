/** Orchard without native code: trained models in browsers, edge runtimes and serverless functions. */
export type {
  Answer,
  AnswerExplanation,
  EntityAnswer,
  FoundEntity,
  LabelAnswer,
  ModelText,
  PassageAnswer,
  ReadText,
  ScoredLabel,
  ScoredPassage,
  TextPair,
} from './api/index.js';
export {
  AbortedError,
  ClosedError,
  DeadlineError,
  InstallationError,
  InternalError,
  isOrchardError,
  ModelDownloadError,
  ModelFolderError,
  type OrchardError,
  StorageError,
  ValidationError,
  type ValidationProblem,
} from './contract/index.js';
export type { ExplainedAnswer, ExplainedWord, MatchedWord } from './families/index.js';
export type { EntityRule, LabelRule, Rule, RuleCondition, VetoRule } from './models/index.js';
export type { FoundPassage, IndexProgress, Passage, Prompt } from './search/index.js';
export * from './web/index.js';
