import { ModelFolderError } from '../contract/index.js';
import {
  either,
  fields,
  filledText,
  flag,
  type JsonShape,
  listOf,
  nullable,
  oneOf,
  pairOf,
  recordOf,
  requireShape,
  type Shaped,
  shortText,
  text,
  whole,
} from '../system/index.js';
import type { SpecialTokenIds } from './tokenizer.js';

export const TOKENIZER_FILE = 'tokenizer.json';
export const TOKENIZER_CONFIG = 'tokenizer_config.json';

/** Sixteen times the largest vocabulary of the Hub. */
const MAX_ID = 2 ** 24 - 1;
export const idShape = whole(0, MAX_ID);
const id = idShape;
/** Encoders have tables of one to four. */
const typeId = whole(0, 255);

/** UTF-16 code units. */
const MAX_ADDED_TOKEN = 512;
const MAX_ADDED_TOKENS = 16_384;
const addedContent: JsonShape<string> = (value, problem): value is string =>
  filledText(value, problem) && shortText(MAX_ADDED_TOKEN)(value, problem);

/** Absent flags are false. */
const addedTokenShape = fields(
  { id, content: addedContent },
  {
    single_word: flag,
    lstrip: flag,
    rstrip: flag,
    /** Looked for in the normalized text. */
    normalized: flag,
    special: flag,
  },
);

export type AddedToken = Shaped<typeof addedTokenShape>;

const typed = nullable(fields({ type: text }, {}));

export const anyTokenizerJsonShape = fields(
  {
    model: fields({}, { type: text, continuing_subword_prefix: nullable(text), end_of_word_suffix: nullable(text) }),
  },
  {
    normalizer: typed,
    pre_tokenizer: typed,
    post_processor: typed,
    decoder: typed,
    added_tokens: listOf(addedTokenShape, MAX_ADDED_TOKENS),
  },
);
export type AnyTokenizerJson = Shaped<typeof anyTokenizerJsonShape>;

const specialPieceShape = fields({ SpecialToken: fields({ id: text, type_id: typeId }, {}) }, {}, 'refused');
const textPieceShape = fields({ Sequence: fields({ id: oneOf('A', 'B'), type_id: typeId }, {}) }, {}, 'refused');
const templatePieceShape = either(specialPieceShape, textPieceShape);
export type TemplatePiece = Shaped<typeof templatePieceShape>;

/** This also limits the tokens of each piece. */
const MAX_TEMPLATE_PIECES = 32;

/** Each text may occur once: a repeated one would take as much memory as a file says. */
function templateShape(...texts: readonly ('A' | 'B')[]): JsonShape<TemplatePiece[]> {
  const pieces = listOf(templatePieceShape, MAX_TEMPLATE_PIECES);
  return (value, problem): value is TemplatePiece[] => {
    if (!pieces(value, problem)) return false;
    const found = value.flatMap((piece) => ('Sequence' in piece ? [piece.Sequence.id] : []));
    if (found.sort().join() === texts.join()) return true;
    problem.expected = `a template with ${texts.join(' and ')}, ${texts.length === 1 ? 'once' : 'each once'}`;
    return false;
  };
}

export const templatesShape = fields({ single: templateShape('A'), pair: templateShape('A', 'B') }, {});
export const templateProcessingShape = fields(
  {
    type: oneOf('TemplateProcessing'),
    single: templateShape('A'),
    pair: templateShape('A', 'B'),
    special_tokens: recordOf(
      fields({ id: text, ids: listOf(id, MAX_TEMPLATE_PIECES), tokens: listOf(text, MAX_TEMPLATE_PIECES) }, {}),
    ),
  },
  {},
);

export const tokenAndId = pairOf(text, id);
export const bertProcessingShape = fields({ type: oneOf('BertProcessing'), sep: tokenAndId, cls: tokenAndId }, {});

/** What {@link trainWordPiece} writes. */
export interface BertTokenizerJson {
  readonly [field: string]: unknown;
  readonly added_tokens: readonly Required<AddedToken>[];
  readonly normalizer: {
    readonly type: 'BertNormalizer';
    readonly clean_text: boolean;
    readonly handle_chinese_chars: boolean;
    /** Null: as `lowercase`. */
    readonly strip_accents: boolean | null;
    readonly lowercase: boolean;
  };
  readonly pre_tokenizer: { readonly type: 'BertPreTokenizer' };
  readonly post_processor: Shaped<typeof templateProcessingShape>;
  readonly model: {
    readonly type: 'WordPiece';
    readonly unk_token: string;
    readonly continuing_subword_prefix: string;
    readonly max_input_chars_per_word: number;
    readonly vocab: Readonly<Record<string, number>>;
  };
}

const namedTokenShape = nullable(either(text, fields({ content: text }, {})));

/** Names of special tokens in tokenizer_config.json. */
export const specialTokenNamesShape = fields(
  {},
  {
    pad_token: namedTokenShape,
    unk_token: namedTokenShape,
    cls_token: namedTokenShape,
    sep_token: namedTokenShape,
    mask_token: namedTokenShape,
  },
);
export type SpecialTokenNames = Shaped<typeof specialTokenNamesShape>;

/** Their ids in vocabularies that we train. */
export const TRAINED_SPECIAL_TOKENS = {
  '[PAD]': 0,
  '[UNK]': 1,
  '[CLS]': 2,
  '[SEP]': 3,
  '[MASK]': 4,
} as const;

/** The field of tokenizer_config.json, and the names without it. */
const ROLES = {
  pad: { field: 'pad_token', names: ['[PAD]', '<pad>'] },
  unknown: { field: 'unk_token', names: ['[UNK]', '<unk>'] },
  classifier: { field: 'cls_token', names: ['[CLS]', '<s>'] },
  separator: { field: 'sep_token', names: ['[SEP]', '</s>'] },
  mask: { field: 'mask_token', names: ['[MASK]', '<mask>'] },
} as const;

/** @throws ModelFolderError unless all five exist under the names of `config`, else the usual ones. */
export function findSpecialTokens(
  idOf: (token: string) => number | undefined,
  config: SpecialTokenNames,
): SpecialTokenIds {
  const missing: string[] = [];
  const find = ({ field, names }: (typeof ROLES)[keyof typeof ROLES]): number => {
    const named = config[field];
    const name = typeof named === 'string' ? named : named?.content;
    const candidates = name === undefined ? names : [name];
    const id = candidates.map(idOf).find((found) => found !== undefined);
    if (id === undefined) missing.push(`${field} (${candidates.join(' or ')})`);
    return id ?? 0;
  };
  const ids = {
    pad: find(ROLES.pad),
    unknown: find(ROLES.unknown),
    classifier: find(ROLES.classifier),
    separator: find(ROLES.separator),
    mask: find(ROLES.mask),
  };
  if (missing.length === 0) return ids;
  const reason = `has no entry for ${missing.join(', ')}; name the tokens in tokenizer_config.json`;
  throw new ModelFolderError(TOKENIZER_FILE, `its vocabulary ${reason}`);
}

/** What we don't compute as the Rust package does. */
export class UnknownPartError extends Error {
  override readonly name = 'UnknownPartError';
  constructor(
    /** For messages: `the normalizer "Foo"`. */
    readonly part: string,
  ) {
    super(`unknown: ${part}`);
  }
}

/** Marks a piece inside a word. */
export const CONTINUING_PREFIX = '##';
/** Code points. */
export const MAX_CHARACTERS_PER_WORD = 100;

interface WordPieceJsonOptions {
  readonly lowercase: boolean;
  /** Null: as `lowercase`. */
  readonly stripAccents: boolean | null;
  /** Default true. */
  readonly splitChineseCharacters?: boolean;
}

/** @param pieces in the order of their ids, with the five special tokens. */
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

function postProcessor(idOf: (token: string) => number): BertTokenizerJson['post_processor'] {
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

/** Repeats the normalizer's options, as Python's BertTokenizerFast lets this file override tokenizer.json. */
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

/** Languages in Latin and Greek script: words without accents are still recognized, as uncased BERT assumes. */
const LANGUAGES_READABLE_WITHOUT_ACCENTS = new Set(
  `albanian basque catalan croatian czech danish dutch english estonian finnish french galician german
    greek hungarian icelandic irish italian latvian lithuanian norwegian polish portuguese romanian
    slovak slovenian spanish swedish welsh`.split(/\s+/),
);

/** In other languages, marks are part of letters: without them, Japanese が becomes か and Russian й becomes и. */
export function keepsMeaningWithoutAccents(language: string): boolean {
  return LANGUAGES_READABLE_WITHOUT_ACCENTS.has(language.trim().toLowerCase());
}

/** The BertTokenizer of transformers reads these. */
const optionsShape = fields({}, { do_lower_case: flag, strip_accents: nullable(flag), tokenize_chinese_chars: flag });

/** @param vocabulary one piece per line; ids are line numbers from 0. @throws ModelFolderError */
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
