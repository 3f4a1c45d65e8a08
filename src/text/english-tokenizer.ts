import pieces from './english-vocabulary.json' with { type: 'json' };
import { type BertTokenizerJson, wordPieceTokenizerJson } from './tokenizer-json.js';

/** Lower-case WordPiece, 16,000 pieces, which only training loads; see models/recipes/english-vocabulary.ts. */
export function englishTokenizer(): BertTokenizerJson {
  return wordPieceTokenizerJson(pieces, { lowercase: true, stripAccents: null });
}
