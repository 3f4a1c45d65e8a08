import { characterMap } from './character-map-builder.js';
import { byteCharacters, bytePairModel, vocabularyOf } from './tokenizer-parts.js';

/**
 * Small tokenizers with the steps of the encoders on the Hub, each as its tokenizer.json has them: RoBERTa, XLM-R,
 * CamemBERT, ALBERT, DeBERTa-v3, ModernBERT and MPNet. (BERT's own is in word-piece-tokenizer.test.ts.)
 */

const words = ['the', 'cat', 'cats', 'naive', 'été', 'don', 'NASA', 'Straße', 'app', 'ordered', 'jacket', 'who'];
const letters = [
  ...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,!?\'"()-$&#@/:;é日本語東京都한국어',
  'ü',
];

/** Characters that {@link characterRules} deletes. */
export const deletedCharacters = '\u0001\u0007\u001b\u007f\u00ad';

/** Rules of nmt_nfkc that matter in the texts of the tests, and such that are awkward. */
export const characterRules: readonly (readonly [string, string])[] = [
  ...[...'\t\n\r\u00a0\u2003\u3000\u200b\u2028'].map((space) => [space, ' '] as const),
  ...[...deletedCharacters].map((control) => [control, ''] as const),
  ...[...'ﬁﬂ½①ｱｶﾞＡｂ…㌀ĳ'].map((character) => [character, character.normalize('NFKC')] as const),
  ...['e\u0301', 'a\u0308', 'ｶﾞ', 'カ\u3099'].map((pair) => [pair, pair.normalize('NFKC')] as const),
  ['\u0300', '\u0300'],
];

interface Special {
  readonly content: string;
  readonly lstrip?: boolean;
  readonly normalized?: boolean;
  readonly single_word?: boolean;
}

function frame(special: readonly Special[], parts: object) {
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: special.map((token, id) => ({
      id,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: true,
      ...token,
    })),
    normalizer: null,
    pre_tokenizer: null,
    decoder: null,
    ...parts,
  };
}

const template = (cls: [string, number], sep: [string, number], pair: readonly (string | [string, number])[]) => {
  const piece = (name: string, type_id: number) =>
    name === 'A' || name === 'B' ? { Sequence: { id: name, type_id } } : { SpecialToken: { id: name, type_id } };
  return {
    type: 'TemplateProcessing',
    single: [piece(cls[0], 0), piece('A', 0), piece(sep[0], 0)],
    pair: pair.map((part) => (typeof part === 'string' ? piece(part, 0) : piece(...part))),
    special_tokens: Object.fromEntries(
      [cls, sep].map(([token, id]) => [token, { id: token, ids: [id], tokens: [token] }]),
    ),
  };
};

const xlmSpecial: readonly Special[] = [
  { content: '<s>' },
  { content: '<pad>' },
  { content: '</s>' },
  { content: '<unk>' },
  { content: '<mask>', lstrip: true },
];
const bertSpecial: readonly Special[] = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'].map((content) => ({
  content,
}));
const xlmTemplate = template(['<s>', 0], ['</s>', 2], ['<s>', 'A', '</s>', '</s>', 'B', '</s>']);
const bertTemplate = template(['[CLS]', 2], ['[SEP]', 3], ['[CLS]', 'A', '[SEP]', ['B', 1], ['[SEP]', 1]]);

/** Pieces with made-up, different logarithms of probabilities. */
function unigram(special: readonly Special[], unknown: string) {
  const pieces = ['▁', ...words.map((word) => `▁${word}`), ...words, 's', 'ing', '▁▁', 'fi', ' ', ...letters];
  const distinct = [...new Set(pieces)];
  return {
    type: 'Unigram',
    unk_id: special.findIndex(({ content }) => content === unknown),
    byte_fallback: false,
    vocab: [
      ...special.map(({ content }) => [content, 0]),
      ...distinct.map((piece, at) => [piece, -(piece.length > 1 ? 4 : 8) - at / 37]),
    ],
  };
}

const metaspace = { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true };
const charsmap = { type: 'Precompiled', precompiled_charsmap: characterMap(characterRules) };
const oneSpace = (content: string) => ({ type: 'Replace', pattern: { Regex: ' {2,}' }, content });
const sequence = (...normalizers: readonly object[]) => ({ type: 'Sequence', normalizers });
const pretokenizers = (...steps: readonly object[]) => ({ type: 'Sequence', pretokenizers: steps });

const merges: [string, string][] = [
  ['t', 'h'],
  ['th', 'e'],
  ['Ġ', 'the'],
  ['Ġ', 't'],
  ['Ġ', 'c'],
  ['a', 't'],
  ['Ġc', 'at'],
  ['Ġ', 'Ġ'],
  ['ð', 'Ł'],
  ['Ã', '©'],
];
const bytePairs = (special: readonly Special[], unknown: string | null) => ({
  ...bytePairModel(
    unknown ?? '',
    [...special.map(({ content }) => content), ...byteCharacters, ...new Set(merges.map((pair) => pair.join('')))],
    merges,
  ),
  unk_token: unknown,
});
const byteLevel = (add_prefix_space: boolean) => ({
  type: 'ByteLevel',
  add_prefix_space,
  trim_offsets: true,
  use_regex: true,
});
const roberta = (trim_offsets: boolean, add_prefix_space: boolean, cls: number, sep: number) => ({
  type: 'RobertaProcessing',
  sep: ['</s>', sep],
  cls: ['<s>', cls],
  trim_offsets,
  add_prefix_space,
});

const bertPieces = [
  ...words.map((word) => word.toLowerCase()),
  ...letters.map((letter) => letter.toLowerCase()),
  ...[...'abcdefghijklmnopqrstuvwxyz0123456789'].map((letter) => `##${letter}`),
];
const wordPiece = (special: readonly Special[], unk_token: string) => ({
  type: 'WordPiece',
  unk_token,
  continuing_subword_prefix: '##',
  max_input_chars_per_word: 100,
  vocab: vocabularyOf([...new Set([...special.map(({ content }) => content), ...bertPieces])]),
});
const bertNormalizer = {
  type: 'BertNormalizer',
  clean_text: true,
  handle_chinese_chars: true,
  strip_accents: null,
  lowercase: true,
};
const mpnetSpecial: readonly Special[] = [
  ...['<s>', '<pad>', '</s>', '<unk>'].map((content) => ({ content })),
  { content: '[UNK]' },
  { content: '<mask>', lstrip: true },
];
const modernSpecial: readonly Special[] = [
  ...bertSpecial.slice(0, 4),
  { content: '[MASK]', lstrip: true },
  { content: '|||IP_ADDRESS|||', normalized: true },
  { content: '  ', normalized: true },
  { content: 'whole', normalized: true, single_word: true },
];

export const hubTokenizers: Readonly<Record<string, object>> = {
  RoBERTa: frame(xlmSpecial, {
    pre_tokenizer: byteLevel(false),
    post_processor: roberta(true, false, 0, 2),
    model: bytePairs(xlmSpecial, '<unk>'),
  }),
  'RoBERTa with a space before the text': frame(xlmSpecial, {
    pre_tokenizer: byteLevel(true),
    post_processor: roberta(true, true, 0, 2),
    model: bytePairs(xlmSpecial, '<unk>'),
  }),
  'XLM-R': frame(xlmSpecial, {
    normalizer: sequence(charsmap, oneSpace(' ')),
    pre_tokenizer: pretokenizers({ type: 'WhitespaceSplit' }, metaspace),
    post_processor: xlmTemplate,
    model: unigram(xlmSpecial, '<unk>'),
  }),
  CamemBERT: frame(xlmSpecial, {
    normalizer: sequence(charsmap, { type: 'Strip', strip_left: false, strip_right: true }, oneSpace('▁')),
    pre_tokenizer: { type: 'Metaspace', replacement: '▁', add_prefix_space: true },
    post_processor: xlmTemplate,
    model: unigram(xlmSpecial, '<unk>'),
  }),
  ALBERT: frame(bertSpecial, {
    normalizer: sequence(
      { type: 'Replace', pattern: { String: '``' }, content: '"' },
      { type: 'Replace', pattern: { String: "''" }, content: '"' },
      { type: 'NFKD' },
      { type: 'StripAccents' },
      { type: 'Lowercase' },
      charsmap,
      oneSpace(' '),
    ),
    pre_tokenizer: pretokenizers({ type: 'WhitespaceSplit' }, metaspace),
    post_processor: bertTemplate,
    model: unigram(bertSpecial, '[UNK]'),
  }),
  'DeBERTa-v3': frame(bertSpecial, {
    normalizer: sequence({ type: 'Strip', strip_left: true, strip_right: true }, charsmap, oneSpace(' ')),
    pre_tokenizer: pretokenizers(metaspace),
    post_processor: bertTemplate,
    model: unigram(bertSpecial, '[UNK]'),
  }),
  ModernBERT: frame(modernSpecial, {
    normalizer: { type: 'NFC' },
    pre_tokenizer: byteLevel(false),
    post_processor: bertTemplate,
    model: bytePairs(modernSpecial, null),
  }),
  MPNet: frame(mpnetSpecial, {
    normalizer: bertNormalizer,
    pre_tokenizer: { type: 'BertPreTokenizer' },
    post_processor: roberta(true, false, 0, 2),
    model: wordPiece(mpnetSpecial, '[UNK]'),
  }),
};
