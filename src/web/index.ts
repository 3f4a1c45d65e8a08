export type { FileContent, ModelFiles, ModelSource } from './model-source.js';
export {
  type OpenWebModelOptions,
  openModel,
  type WebCallOptions,
  type WebExplainOptions,
  type WebModel,
  type WebPredictOptions,
} from './open-model.js';
export type { WebSearchCallOptions, WebSearchIndex, WebSearchOptions } from './search-passages.js';
