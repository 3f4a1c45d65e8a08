import { ModelFolderError } from '../contract/index.js';
import {
  either,
  fields,
  filledText,
  flag,
  type JsonShape,
  listOf,
  nullable,
  object,
  oneOf,
  pairOf,
  recordOf,
  type Shaped,
  shaped,
  shortText,
  text,
  whole,
} from '../system/index.js';
import type { SpecialTokenIds } from './tokenizer.js';

/** The parts of Hugging Face's tokenizer.json and tokenizer_config.json that we read and write. */

/** 16 million: sixteen times the largest vocabulary of the Hub. */
const MAX_ID = 2 ** 24 - 1;
/** The id of a piece. */
export const idShape = whole(0, MAX_ID);
const id = idShape;
/** Token types; encoders have tables of one to four. */
const typeId = whole(0, 255);

/** UTF-16 code units of an added token. */
const MAX_ADDED_TOKEN = 512;
const MAX_ADDED_TOKENS = 16_384;
const addedContent: JsonShape<string> = (value, problem): value is string =>
  filledText(value, problem) && shortText(MAX_ADDED_TOKEN)(value, problem);

/** Flags that are absent are false. */
const addedTokenShape = fields(
  { id, content: addedContent },
  {
    single_word: flag,
    lstrip: flag,
    rstrip: flag,
    /** Whether it is looked for in the normalised text instead of the text as it is. */
    normalized: flag,
    special: flag,
  },
);

const typed = nullable(fields({ type: text }, {}));

/** What every tokenizer.json has, whatever its model. */
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

/** Of a template, and tokens of each of its pieces. */
const MAX_TEMPLATE_PIECES = 32;

/** A template with each of these texts once: a text that is repeated would take as much memory as a file says. */
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

/** A token and its id. */
export const tokenAndId = pairOf(text, id);
export const bertProcessingShape = fields({ type: oneOf('BertProcessing'), sep: tokenAndId, cls: tokenAndId }, {});

type Processor = Shaped<typeof templateProcessingShape> | Shaped<typeof bertProcessingShape>;
/** By its type, so that the error for a wrong one is about its own fields. */
const processorShape: JsonShape<Processor> = (value, problem): value is Processor =>
  shaped(fields({ type: oneOf('BertProcessing') }, {}), value)
    ? bertProcessingShape(value, problem)
    : templateProcessingShape(value, problem);

/** Longest word that may be split: each place of it is looked up as far as a piece reaches. */
const MAX_WORD_CHARACTERS = 1000;

/** A tokenizer.json of BERT's kind: BertNormalizer, BertPreTokenizer, WordPiece. */
export const bertTokenizerJsonShape = fields(
  {
    normalizer: fields(
      { type: oneOf('BertNormalizer') },
      { clean_text: flag, handle_chinese_chars: flag, strip_accents: nullable(flag), lowercase: flag },
    ),
    pre_tokenizer: fields({ type: oneOf('BertPreTokenizer') }, {}),
    model: fields(
      { vocab: object },
      {
        type: oneOf('WordPiece'),
        unk_token: text,
        continuing_subword_prefix: text,
        max_input_chars_per_word: whole(1, MAX_WORD_CHARACTERS),
      },
    ),
  },
  { post_processor: nullable(processorShape), added_tokens: listOf(addedTokenShape, MAX_ADDED_TOKENS) },
);
/** One as it is read: fields with a default may be absent. */
export type ReadBertTokenizerJson = Shaped<typeof bertTokenizerJsonShape>;

/** A BERT-style tokenizer.json, as {@link trainWordPiece} writes it. */
export interface BertTokenizerJson {
  readonly [field: string]: unknown;
  readonly added_tokens: readonly Required<Shaped<typeof addedTokenShape>>[];
  readonly normalizer: {
    readonly type: 'BertNormalizer';
    readonly clean_text: boolean;
    readonly handle_chinese_chars: boolean;
    /** Null: the same as `lowercase`. */
    readonly strip_accents: boolean | null;
    readonly lowercase: boolean;
  };
  readonly pre_tokenizer: { readonly type: 'BertPreTokenizer' };
  readonly post_processor: Processor | null;
  readonly model: {
    readonly type: 'WordPiece';
    readonly unk_token: string;
    readonly continuing_subword_prefix: string;
    readonly max_input_chars_per_word: number;
    /** Piece to id. */
    readonly vocab: Readonly<Record<string, number>>;
  };
}

const namedTokenShape = nullable(either(text, fields({ content: text }, {})));

/** The fields of a tokenizer_config.json that name the special tokens. */
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

/** Ids of the special tokens in vocabularies that we train. */
export const TRAINED_SPECIAL_TOKENS = {
  '[PAD]': 0,
  '[UNK]': 1,
  '[CLS]': 2,
  '[SEP]': 3,
  '[MASK]': 4,
} as const;

/** The field of tokenizer_config.json that names each token, and its usual names if the field is absent. */
const ROLES = {
  pad: { field: 'pad_token', names: ['[PAD]', '<pad>'] },
  unknown: { field: 'unk_token', names: ['[UNK]', '<unk>'] },
  classifier: { field: 'cls_token', names: ['[CLS]', '<s>'] },
  separator: { field: 'sep_token', names: ['[SEP]', '</s>'] },
  mask: { field: 'mask_token', names: ['[MASK]', '<mask>'] },
} as const;

/**
 * Looks up the five tokens by the names that `config` gives, else by the usual ones.
 * @throws ModelFolderError unless all exist.
 */
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
  throw new ModelFolderError('tokenizer.json', `its vocabulary ${reason}`);
}

/** A part of a tokenizer.json that we don't compute as the Rust package does. */
export class UnknownPartError extends Error {
  override readonly name = 'UnknownPartError';
  constructor(
    /** For people, as in "… can't be followed": `the normalizer "Foo"`. */
    readonly part: string,
  ) {
    super(`unknown: ${part}`);
  }
}
