export {
  type EmbedOptions,
  type EncoderOptions,
  embed,
  findEncoder,
  SentenceEncoder,
  withSentenceEncoder,
} from './embed.js';
export { isWanted, numbered, PassageCollection, type Similarity, similarityOf } from './passage-collection.js';
export {
  contentWords,
  type Evidence,
  PassageSentences,
  rankedPassages,
  rankPassages,
  sharedWords,
} from './relevance.js';
export { type ScorePairsOptions, scorePairs } from './score-pairs.js';
export {
  type ChangeOptions,
  type FoundPassage,
  type IndexProgress,
  type OpenSearchOptions,
  openSearch,
  type Passage,
  type RerankOptions,
  rerank,
  type SearchCallOptions,
  type SearchIndex,
  type SearchOptions,
  search,
} from './search.js';
export { type Prompt, promptText, requireDifferent } from './sentence-vectors.js';
