export { type EmbedOptions, embed, type Prompt, SentenceEncoder } from './embed.js';
export {
  bestSentences,
  contentWords,
  type Evidence,
  PassageSentences,
  PassageWords,
  rankedPassages,
  rankPassages,
} from './relevance.js';
export { type ScorePairsOptions, scorePairs } from './score-pairs.js';
export {
  type ChangeOptions,
  type FoundPassage,
  type IndexProgress,
  type OpenSearchOptions,
  openSearch,
  type Passage,
  type SearchCallOptions,
  type SearchIndex,
  type SearchOptions,
  search,
} from './search.js';
