export { loadBertStyleTokenizer } from './bert-style-tokenizer.js';
export { encodingWindows, markCapitals } from './encoding.js';
export { englishTokenizer } from './english-tokenizer.js';
export { loadTokenizer, withTimeLimit } from './load-tokenizer.js';
export { withListedPieces } from './steps/piece-models.js';
export { TermMatcher } from './term-matcher.js';
export {
  defaultWindowOverlap,
  joinParts,
  outputsByText,
  partsOf,
  type ReadingFields,
  singleTexts,
  type TextOutputs,
  TextReader,
  type TextWindow,
  type WindowOutputs,
} from './text-reader.js';
export { maxTextMs, TimeLimitError } from './time-limit.js';
export type { Encoding, SpecialTokenIds, Tokenizer } from './tokenizer.js';
export { type BertTokenizerJson, tokenizerConfig, vocabularyTokenizer } from './tokenizer-json.js';
export { trainWordPiece, wordPieceSteps } from './word-piece-trainer.js';
