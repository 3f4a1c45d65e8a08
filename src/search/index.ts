export { type EmbedOptions, embed, SentenceEncoder } from './embed.js';
export {
  bestSentences,
  contentWords,
  type Evidence,
  PassageSentences,
  PassageWords,
  rankedPassages,
  rankPassages,
} from './relevance.js';
export {
  type FoundPassage,
  type OpenSearchOptions,
  openSearch,
  type SearchCallOptions,
  type SearchIndex,
  type SearchOptions,
  search,
} from './search.js';
