import { TRAINED_SPECIAL_TOKENS } from './special-tokens.js';
import type { BertTokenizerJson, TemplatePiece } from './tokenizer-json.js';

/** Marks a piece that continues a word. */
export const CONTINUING_PREFIX = '##';
const MAX_CHARACTERS_PER_WORD = 100;

export interface WordPieceJsonOptions {
  readonly lowercase: boolean;
  /** Null: the same as `lowercase`. */
  readonly stripAccents: boolean | null;
  /** Whether each Chinese character is a word. Default true. */
  readonly splitChineseCharacters?: boolean;
}

/**
 * A BERT-style tokenizer.json over these pieces, in the order of their ids, including the five special
 * tokens.
 */
export function wordPieceTokenizerJson(
  pieces: readonly string[],
  { lowercase, stripAccents, splitChineseCharacters = true }: WordPieceJsonOptions,
): BertTokenizerJson {
  const idOf = (token: string): number => pieces.indexOf(token);
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: Object.keys(TRAINED_SPECIAL_TOKENS).map((content) => ({
      id: idOf(content),
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: true,
    })),
    normalizer: {
      type: 'BertNormalizer',
      clean_text: true,
      handle_chinese_chars: splitChineseCharacters,
      strip_accents: stripAccents,
      lowercase,
    },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    post_processor: postProcessor(idOf),
    decoder: { type: 'WordPiece', prefix: CONTINUING_PREFIX, cleanup: true },
    model: {
      type: 'WordPiece',
      unk_token: '[UNK]',
      continuing_subword_prefix: CONTINUING_PREFIX,
      max_input_chars_per_word: MAX_CHARACTERS_PER_WORD,
      vocab: Object.fromEntries(pieces.map((piece, id) => [piece, id])),
    },
  };
}

function postProcessor(idOf: (token: string) => number): NonNullable<BertTokenizerJson['post_processor']> {
  const special = (id: string, type_id: number): TemplatePiece => ({ SpecialToken: { id, type_id } });
  const text = (id: 'A' | 'B', type_id: number): TemplatePiece => ({ Sequence: { id, type_id } });
  const single = [special('[CLS]', 0), text('A', 0), special('[SEP]', 0)];
  const entry = (token: string) => ({
    id: token,
    ids: [idOf(token)],
    tokens: [token],
  });
  return {
    type: 'TemplateProcessing',
    single,
    pair: [...single, text('B', 1), special('[SEP]', 1)],
    special_tokens: { '[CLS]': entry('[CLS]'), '[SEP]': entry('[SEP]') },
  };
}
