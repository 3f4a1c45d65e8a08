import pieces from './english-vocabulary.json' with { type: 'json' };
import type { BertTokenizerJson } from './tokenizer-json.js';
import { wordPieceTokenizerJson } from './word-piece-json.js';

/**
 * A lower-case WordPiece tokenizer of general English, 16,000 pieces; see
 * models/recipes/english-vocabulary.ts.
 */
export function englishTokenizer(): BertTokenizerJson {
  return wordPieceTokenizerJson(pieces, { lowercase: true, stripAccents: null });
}
