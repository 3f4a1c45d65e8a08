/** Orchard where Node isn't: trained models in a browser, at the edge, in a function. */
export type {
  Answer,
  AnswerExplanation,
  EntityAnswer,
  FoundEntity,
  LabelAnswer,
  PassageAnswer,
  ReadText,
  ScoredLabel,
  ScoredPassage,
} from './api/index.js';
export {
  AbortedError,
  ClosedError,
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
export type { FoundPassage } from './search/index.js';
export * from './web/index.js';
