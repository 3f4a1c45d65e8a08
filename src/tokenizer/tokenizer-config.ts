/** The tokenizer_config.json that we write beside a tokenizer.json. */
import type { BertTokenizerJson } from './tokenizer-json.js';

/** What transformers and transformers.js read to load the tokenizer as a BertTokenizer. */
export interface TokenizerConfig {
  readonly tokenizer_class: 'BertTokenizer';
  readonly do_lower_case: boolean;
  readonly strip_accents: boolean | null;
  readonly tokenize_chinese_chars: boolean;
  /** The most tokens that the model reads, including special tokens. */
  readonly model_max_length: number;
  readonly pad_token: string;
  readonly unk_token: string;
  readonly cls_token: string;
  readonly sep_token: string;
  readonly mask_token: string;
}

/**
 * The normaliser's options are repeated: Python's BertTokenizerFast lets this file override tokenizer.json.
 */
export function tokenizerConfig(
  { normalizer }: Pick<BertTokenizerJson, 'normalizer'>,
  modelMaxLength: number,
): TokenizerConfig {
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
const LANGUAGES_READABLE_WITHOUT_ACCENTS = new Set([
  'albanian',
  'basque',
  'catalan',
  'croatian',
  'czech',
  'danish',
  'dutch',
  'english',
  'estonian',
  'finnish',
  'french',
  'galician',
  'german',
  'greek',
  'hungarian',
  'icelandic',
  'irish',
  'italian',
  'latvian',
  'lithuanian',
  'norwegian',
  'polish',
  'portuguese',
  'romanian',
  'slovak',
  'slovenian',
  'spanish',
  'swedish',
  'welsh',
]);

/**
 * Whether a lower-case vocabulary of the language may strip accents, as BERT does. In other languages marks
 * are part of letters: decomposing and removing them turns Japanese が into か, Russian й into и, Hindi vowels
 * into nothing, Korean syllables into separate letters. (Tohoku University's Japanese BERT models keep them
 * too.)
 */
export function keepsMeaningWithoutAccents(language: string): boolean {
  return LANGUAGES_READABLE_WITHOUT_ACCENTS.has(language.trim().toLowerCase());
}
