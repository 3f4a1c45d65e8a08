export { englishTokenizer } from './english-tokenizer.js';
export { loadTokenizer } from './load-tokenizer.js';
export { markCapitals } from './mark-capitals.js';
export type { EncodeOptions, Encoding, SpecialTokenIds, Tokenizer } from './tokenizer.js';
export { type TokenizerConfig, tokenizerConfig } from './tokenizer-config.js';
export type { BertTokenizerJson } from './tokenizer-json.js';
export { vocabularyTokenizer } from './vocabulary-tokenizer.js';
export { encodingWindows } from './windows.js';
export { trainWordPiece, type WordPieceTrainingOptions, wordPieceSteps } from './word-piece-trainer.js';
