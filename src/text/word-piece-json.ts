import { ModelFolderError } from '../contract/index.js';
import { fields, flag, nullable, requireShape } from '../system/index.js';
import { type BertTokenizerJson, type TemplatePiece, TRAINED_SPECIAL_TOKENS } from './tokenizer-json.js';

/** Marks a piece that continues a word. */
export const CONTINUING_PREFIX = '##';
const MAX_CHARACTERS_PER_WORD = 100;

interface WordPieceJsonOptions {
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

/**
 * The tokenizer_config.json that transformers and transformers.js read to load the tokenizer as a BertTokenizer. The
 * normaliser's options are repeated: Python's BertTokenizerFast lets this file override tokenizer.json.
 * @param modelMaxLength the most tokens that the model reads, including special tokens.
 */
export function tokenizerConfig({ normalizer }: Pick<BertTokenizerJson, 'normalizer'>, modelMaxLength: number) {
  return {
    tokenizer_class: 'BertTokenizer',
    do_lower_case: normalizer.lowercase,
    strip_accents: normalizer.strip_accents,
    tokenize_chinese_chars: normalizer.handle_chinese_chars,
    model_max_length: modelMaxLength,
    pad_token: '[PAD]',
    unk_token: '[UNK]',
    cls_token: '[CLS]',
    sep_token: '[SEP]',
    mask_token: '[MASK]',
  };
}

/**
 * European languages in Latin and Greek script, in which a word without its accents is still recognised as
 * the same word, as uncased BERT assumes.
 */
const LANGUAGES_READABLE_WITHOUT_ACCENTS = new Set(
  `albanian basque catalan croatian czech danish dutch english estonian finnish french galician german
    greek hungarian icelandic irish italian latvian lithuanian norwegian polish portuguese romanian
    slovak slovenian spanish swedish welsh`.split(/\s+/),
);

/**
 * Whether a lower-case vocabulary of the language may strip accents, as BERT does. In other languages marks
 * are part of letters: decomposing and removing them turns Japanese が into か, Russian й into и, Hindi vowels
 * into nothing, Korean syllables into separate letters. (Tohoku University's Japanese BERT models keep them
 * too.)
 */
export function keepsMeaningWithoutAccents(language: string): boolean {
  return LANGUAGES_READABLE_WITHOUT_ACCENTS.has(language.trim().toLowerCase());
}

/** What the BertTokenizer of transformers reads of tokenizer_config.json, and its defaults. */
const optionsShape = fields({}, { do_lower_case: flag, strip_accents: nullable(flag), tokenize_chinese_chars: flag });

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
    throw new ModelFolderError('vocab.txt', `not a BERT vocabulary: it lacks ${missing.join(', ')}; ${advice}`);
  }
  return wordPieceTokenizerJson(pieces, {
    lowercase: options.do_lower_case ?? true,
    stripAccents: options.strip_accents ?? null,
    splitChineseCharacters: options.tokenize_chinese_chars ?? true,
  });
}
