/** Makes the tokenizer.json that older BERT checkpoints lack: they only have a list of pieces, vocab.txt. */
import { ModelFolderError } from '../errors.js';
import { fields, flag, nullable, requireShape } from '../json-shape.js';
import { TRAINED_SPECIAL_TOKENS } from './special-tokens.js';
import type { BertTokenizerJson } from './tokenizer-json.js';
import { wordPieceTokenizerJson } from './word-piece-json.js';

/** What the BertTokenizer of transformers reads of tokenizer_config.json, and its defaults. */
const optionsShape = fields(
  {},
  { do_lower_case: flag, strip_accents: nullable(flag), tokenize_chinese_chars: flag },
);

/**
 * The tokenizer.json of a BERT's vocab.txt: one piece per line, with the line's number (from 0) as its id.
 * @param config the parsed tokenizer_config.json, or {}.
 * @throws ModelFolderError
 */
export function vocabularyTokenizer(vocabulary: string, config: unknown): BertTokenizerJson {
  const options = requireShape(optionsShape, config, 'tokenizer_config.json');
  const pieces = vocabulary.replace(/\r?\n$/, '').split(/\r?\n/);
  const missing = Object.keys(TRAINED_SPECIAL_TOKENS).filter((token) => !pieces.includes(token));
  if (missing.length > 0) {
    const advice = 'only a tokenizer.json says how the tokenizers of other models split a text';
    throw new ModelFolderError(
      'vocab.txt',
      `not a BERT vocabulary: it lacks ${missing.join(', ')}; ${advice}`,
    );
  }
  return wordPieceTokenizerJson(pieces, {
    lowercase: options.do_lower_case ?? true,
    stripAccents: options.strip_accents ?? null,
    splitChineseCharacters: options.tokenize_chinese_chars ?? true,
  });
}
