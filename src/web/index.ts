export type { WebCallOptions } from './calls.js';
export type { FileContent, ModelFiles, ModelSource } from './model-source.js';
export {
  type OpenWebModelOptions,
  openModel,
  type WebEmbedOptions,
  type WebExplainOptions,
  type WebModel,
  type WebPredictOptions,
  type WebTexts,
} from './open-model.js';
export type { WebSearchCallOptions, WebSearchIndex, WebSearchOptions } from './search-passages.js';
