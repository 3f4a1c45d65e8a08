import { describe, expect, it } from 'vitest';
import { loadTokenizer } from '../../src/text/index.js';
import { hardTexts } from './generated-texts.js';
import { encodeByRust, rustTokenizer, withoutRust } from './rust-tokenizers.js';
import { byteLevelStep, bytePairModel, tokenizerFrame } from './tokenizer-parts.js';

const SPECIAL = ['<pad>', '<unk>', '<s>', '</s>', '<mask>'];
const letters = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,!?$-é▁ \n\u0301漢京'];
const merges: [string, string][] = [
  ['t', 'h'],
  ['th', 'e'],
  ['e', 'r'],
  ['1', '2'],
  ['a', 'a'],
  ['aa', 'aa'],
];
const pieces = [...letters, ...merges.map((pair) => pair.join(''))];
const bytes = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`);

/** Reads characters one by one, but for a few merges, so that every difference of a step shows. */
const file = (parts: object) => ({
  ...tokenizerFrame(SPECIAL),
  pre_tokenizer: null,
  post_processor: null,
  decoder: null,
  model: bytePairModel('<unk>', [...SPECIAL, ...pieces], merges),
  ...parts,
});

const model = (parts: object, more: readonly string[] = []) => ({
  model: { ...bytePairModel('<unk>', [...SPECIAL, ...pieces, ...more], merges), ...parts },
});
const sequence = (...normalizers: readonly object[]) => ({ normalizer: { type: 'Sequence', normalizers } });
const metaspace = { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true };
const split = (pattern: object, behavior: string, invert = false) => ({
  pre_tokenizer: { type: 'Split', pattern, behavior, invert },
});
const bert = {
  type: 'BertNormalizer',
  clean_text: true,
  handle_chinese_chars: true,
  strip_accents: true,
  lowercase: false,
};

const unigram = (byte_fallback: boolean) => ({
  model: {
    type: 'Unigram',
    unk_id: 1,
    byte_fallback,
    vocab: [...SPECIAL, ...pieces, ...bytes, '☃☃'].map((piece, at) => [piece, -5 - at / 50 + 3 * piece.length]),
  },
});

const steps: Readonly<Record<string, object>> = {
  NFD: { normalizer: { type: 'NFD' } },
  NFC: { normalizer: { type: 'NFC' } },
  NFKD: { normalizer: { type: 'NFKD' } },
  NFKC: { normalizer: { type: 'NFKC' } },
  'NFD without marks': sequence({ type: 'NFD' }, { type: 'StripAccents' }),
  Lowercase: { normalizer: { type: 'Lowercase' } },
  Nmt: { normalizer: { type: 'Nmt' } },
  Prepend: { normalizer: { type: 'Prepend', prepend: 'the' } },
  'Strip of the left': { normalizer: { type: 'Strip', strip_left: true, strip_right: false } },
  'Replace a character by none': { normalizer: { type: 'Replace', pattern: { String: 'e' }, content: '' } },
  'Replace by more': { normalizer: { type: 'Replace', pattern: { String: '.' }, content: ' . ' } },
  'Replace runs': { normalizer: { type: 'Replace', pattern: { Regex: '\\s+' }, content: ' ' } },
  BertNormalizer: { normalizer: bert },
  Whitespace: { pre_tokenizer: { type: 'Whitespace' } },
  Punctuation: { pre_tokenizer: { type: 'Punctuation', behavior: 'Isolated' } },
  Digits: { pre_tokenizer: { type: 'Digits', individual_digits: false } },
  'Digits one by one': { pre_tokenizer: { type: 'Digits', individual_digits: true } },
  'Split off': split({ String: 'e' }, 'Removed'),
  'Split with the one before': split({ String: ' ' }, 'MergedWithPrevious'),
  'Split with the next': split({ Regex: ' ' }, 'MergedWithNext'),
  'Split by runs': split({ Regex: 'a' }, 'Contiguous'),
  'Split between': split({ Regex: 'a+' }, 'Removed', true),
  'Metaspace in one': { pre_tokenizer: { ...metaspace, split: false } },
  'Metaspace at the first': { pre_tokenizer: { ...metaspace, prepend_scheme: 'first' } },
  'Metaspace never': { pre_tokenizer: { ...metaspace, prepend_scheme: 'never' } },
  'ByteLevel in one': { pre_tokenizer: { ...byteLevelStep(false), add_prefix_space: true } },
  'BPE that joins unknown characters': model({ fuse_unk: true }),
  'BPE with bytes': model({ byte_fallback: true }, bytes),
  'BPE of whole words': {
    pre_tokenizer: { type: 'WhitespaceSplit' },
    ...model({ ignore_merges: true }, ['customer', 'twice?']),
  },
  'BPE with a prefix and a suffix': {
    pre_tokenizer: { type: 'WhitespaceSplit' },
    ...model({ continuing_subword_prefix: '##', end_of_word_suffix: '</w>', merges: [['t', '##h']] }, [
      ...letters.map((letter) => `##${letter}`),
      ...letters.map((letter) => `##${letter}</w>`),
    ]),
  },
  Unigram: unigram(false),
  'Unigram with bytes': unigram(true),
  'post-processors one after the other': {
    pre_tokenizer: byteLevelStep(true),
    post_processor: {
      type: 'Sequence',
      processors: [byteLevelStep(true), { type: 'BertProcessing', sep: ['</s>', 3], cls: ['<s>', 2] }],
    },
  },
};

const texts = [
  '',
  'the there  12aaaaa☃☃x☃ e\u0301 É',
  ' a\u0344\u0316 \u0f73\u0f71 각 \u1100\u1161\u11a8 ﬃ Å',
  '<mask>the <s> e<mask>',
  '\u0301a',
];

describe.skipIf(withoutRust)('each step of a tokenizer.json', () => {
  it.each(Object.entries(steps))('%s: has the ids and offsets of the Rust package', async (_, parts) => {
    const json = file(parts);
    const [ours, theirs] = [loadTokenizer(json), rustTokenizer(json)];
    expect(ours.withoutOffsets).toBeUndefined();
    for (const text of [...texts, ...hardTexts(60, 21).filter((hard) => !/[^\0-\u{1fbff}]/u.test(hard))]) {
      const { ids, offsets } = ours.encode(text);
      const expected = await encodeByRust(theirs, text);
      expect([text, ...ids]).toEqual([text, ...expected.ids]);
      expect([text, ...(offsets ?? [])]).toEqual([text, ...expected.offsets]);
    }
  });
});
