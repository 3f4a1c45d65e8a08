/** Older BERT checkpoints have no tokenizer.json, but the pieces alone. */
import { err, ok, type Result } from 'neverthrow';
import * as z from 'zod';
import { ModelFolderError } from '../errors.js';
import { TRAINED_SPECIAL_TOKENS } from './special-tokens.js';
import type { BertTokenizerJson } from './tokenizer-json.js';
import { wordPieceTokenizerJson } from './word-piece-json.js';

/** What transformers' BertTokenizer takes from tokenizer_config.json, and its defaults. */
const optionsSchema = z.object({
  do_lower_case: z.boolean().default(true),
  strip_accents: z.boolean().nullable().default(null),
  tokenize_chinese_chars: z.boolean().default(true),
});

/**
 * The tokenizer.json of a BERT's vocab.txt: a piece a line, whose number counted from 0 is its id.
 * @param config the parsed tokenizer_config.json, or {}.
 */
export function vocabularyTokenizer(
  vocabulary: string,
  config: unknown,
): Result<BertTokenizerJson, ModelFolderError> {
  const options = optionsSchema.safeParse(config);
  if (!options.success) {
    const [issue] = options.error.issues;
    return err(new ModelFolderError('tokenizer_config.json', `${issue?.path.join('.')}: ${issue?.message}`));
  }
  const pieces = vocabulary.replace(/\r?\n$/, '').split(/\r?\n/);
  const missing = Object.keys(TRAINED_SPECIAL_TOKENS).filter((token) => !pieces.includes(token));
  if (missing.length > 0) {
    return err(new ModelFolderError('vocab.txt', `no BERT vocabulary: it lacks ${missing.join(', ')}`));
  }
  const { do_lower_case: lowercase, strip_accents: stripAccents, tokenize_chinese_chars } = options.data;
  return ok(
    wordPieceTokenizerJson(pieces, {
      lowercase,
      stripAccents,
      splitChineseCharacters: tokenize_chinese_chars,
    }),
  );
}
