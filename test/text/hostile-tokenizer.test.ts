import { describe, expect, it } from 'vitest';
import { loadTokenizer, TimeLimitError, type Tokenizer, withTimeLimit } from '../../src/text/index.js';
import { failureOf } from '../support/outcomes.js';
import { characterMap } from './character-map-builder.js';
import { encodeByRust, rustTokenizer, withoutRust } from './rust-tokenizers.js';
import { byteCharacters, byteLevelStep, bytePairModel, tokenizerFrame } from './tokenizer-parts.js';

const SPECIAL = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'];
const cls = { SpecialToken: { id: '[CLS]', type_id: 0 } };
const a = { Sequence: { id: 'A', type_id: 0 } };
const b = { Sequence: { id: 'B', type_id: 1 } };

const byteLevel = byteLevelStep(false);

/** A tokenizer.json that isn't of BERT's kind, with these parts. */
const file = (parts: object) => ({
  ...tokenizerFrame(SPECIAL),
  pre_tokenizer: byteLevel,
  post_processor: null,
  decoder: byteLevel,
  model: bytePairModel(
    '[UNK]',
    [...SPECIAL, ...byteCharacters, 'th', 'the', 'Ġthe', '12', '123'],
    [
      ['t', 'h'],
      ['th', 'e'],
      ['Ġ', 'the'],
      ['1', '2'],
      ['12', '3'],
    ],
  ),
  ...parts,
});

const splitBy = (Regex: string) => ({
  type: 'Sequence',
  pretokenizers: [{ type: 'Split', pattern: { Regex }, behavior: 'Isolated', invert: false }, byteLevel],
});
const replacing = (Regex: string, content: string) => ({ type: 'Replace', pattern: { Regex }, content });

describe('a pattern that tries every way to match', () => {
  const evil = `${'a'.repeat(60)}!`;

  it.each([
    ['nested repeats in a pre-tokenizer', { pre_tokenizer: splitBy('(a+)+$') }],
    ['classes that overlap', { pre_tokenizer: splitBy('(\\p{L}|\\w)*\\d') }],
    ['nested repeats in a normalizer', { normalizer: replacing('(?:a*)*b', ' ') }],
  ])('ends with its text alone: %s', async (_, parts) => {
    const tokenizer = loadTokenizer(file(parts));
    const error = await failureOf('model_folder', () => tokenizer.encode(evil));
    expect(error.message).toMatch(
      /^tokenizer\.json: can't read a text of 61 characters: it took longer than 2\d{3} ms/,
    );
    expect(tokenizer.encode('the 123').ids.length).toBeGreaterThan(0);
  });

  it('ends where it takes long by the length of the text alone', async () => {
    const tokenizer = loadTokenizer(file({ pre_tokenizer: splitBy('(?:a+){5}b|x') }));
    await failureOf('model_folder', () => tokenizer.encode('a'.repeat(20_000)));
  });
});

/** As their files have them. */
const patterns: Readonly<Record<string, string>> = {
  'GPT-2': "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
  'Llama 3':
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
  'Qwen 2':
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
  'GPT-4o':
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
};

describe.skipIf(withoutRust)('the patterns of well-known tokenizers', () => {
  const texts = [
    "The cat's 12345 theatres,\n\n  don't   WORK!! été Ünï",
    `${'the '.repeat(500)}\t \r\n${'A1'.repeat(300)}`,
  ];

  it.each(Object.entries(patterns))('%s: gives the tokens of the Rust package', async (_, pattern) => {
    const json = file({ pre_tokenizer: splitBy(pattern) });
    const [ours, theirs] = [loadTokenizer(json), rustTokenizer(json)];
    for (const text of texts) expect([...ours.encode(text).ids]).toEqual((await encodeByRust(theirs, text)).ids);
  });

  it.each(Object.entries(patterns))('%s: reads 100,000 characters of any kind in time', (_, pattern) => {
    const tokenizer: Tokenizer = loadTokenizer(file({ pre_tokenizer: splitBy(pattern) }));
    for (const unit of ['a', ' ', '\n', 'A', '!', '1', "'", 'é東', ' \n', 'aB1 ']) {
      const text = unit.repeat(Math.floor(20_000 / unit.length));
      expect(tokenizer.encode(text).ids.length).toBeGreaterThan(0);
    }
  });

  it('SentencePiece and T5: replaces runs of spaces', async () => {
    const normalizer = {
      type: 'Sequence',
      normalizers: [{ type: 'NFKC' }, replacing(' {2,}', ' '), replacing('\\s+', ' '), { type: 'Lowercase' }],
    };
    const tokenizer = loadTokenizer(file({ normalizer }));
    expect([...tokenizer.encode('THE   the').ids]).toEqual([...tokenizer.encode('the the').ids]);
  });
});

const doubled = replacing('a', 'aa');
const sequence = (normalizers: readonly unknown[]) => ({ type: 'Sequence', normalizers });
const nested = (depth: number): unknown => (depth === 0 ? doubled : sequence([nested(depth - 1)]));
const template = (single: readonly unknown[], pair: readonly unknown[] = [a, b]) => ({
  post_processor: {
    type: 'TemplateProcessing',
    single,
    pair,
    special_tokens: { '[CLS]': { id: '[CLS]', ids: [2], tokens: ['[CLS]'] } },
  },
});

describe('a tokenizer.json', () => {
  it.each<[string, object, RegExp]>([
    [
      'a step without end',
      { pre_tokenizer: { type: 'FixedLength', length: 0 } },
      /pre_tokenizer\.length: expected a whole number, 1 or more/,
    ],
    [
      'a replacement as long as a book',
      { normalizer: replacing('a', 'b'.repeat(5_000)) },
      /normalizer\.content: expected a string of at most 64/,
    ],
    [
      'doubling again and again',
      { normalizer: sequence(Array(20).fill(doubled)) },
      /normalizer: expected steps that make a text at most 256 times/,
    ],
    [
      'a text between all characters',
      { normalizer: sequence(Array(4).fill(replacing('(?=a)', 'x'.repeat(60)))) },
      /at most 256 times/,
    ],
    [
      '5,000 steps',
      { normalizer: sequence(Array(5_000).fill({ type: 'NFC' })) },
      /normalizer\.normalizers: expected an array of at most 128/,
    ],
    [
      'a character that becomes a book',
      { normalizer: { type: 'Precompiled', precompiled_charsmap: characterMap([['a', 'b'.repeat(1000)]]) } },
      /normalizer\.precompiled_charsmap: it makes more than 64 bytes of a character/,
    ],
    [
      'a table of characters that is none',
      { normalizer: { type: 'Precompiled', precompiled_charsmap: 'AAAA' } },
      /normalizer\.precompiled_charsmap: not a table of SentencePiece/,
    ],
    [
      'tables of characters one after the other',
      {
        normalizer: sequence(Array(3).fill({ type: 'Precompiled', precompiled_charsmap: characterMap([['a', 'aa']]) })),
      },
      /at most 256 times/,
    ],
    [
      'a piece as long as a page',
      { model: { type: 'Unigram', unk_id: 0, vocab: [['x'.repeat(2_000), -1]] } },
      /model\.vocab\.0\.0: expected a string of at most 1024/,
    ],
    [
      'a merge of pieces that do not exist',
      { model: bytePairModel('[UNK]', SPECIAL, [['a', 'b']]) },
      /model\.merges\.0: it or one of its two pieces is not in model\.vocab/,
    ],
    [
      'an unknown piece beyond the vocabulary',
      { model: { type: 'Unigram', unk_id: 9, vocab: [['x', -1]] } },
      /model\.unk_id: 9 is not an entry of model\.vocab/,
    ],
    ['steps within steps', { normalizer: nested(5_000) }, /expected at most 8 sequences within each other/],
    [
      'a pattern of a megabyte',
      { pre_tokenizer: splitBy('a'.repeat(1e6)) },
      /pattern\.Regex: expected a string of at most 4096/,
    ],
    [
      'an id of four billion',
      { model: { ...file({}).model, vocab: { '[UNK]': 4e9 } } },
      /model\.vocab\.\[UNK\]: expected a whole number/,
    ],
    [
      'an added token of a megabyte',
      { added_tokens: [{ id: 1, content: 'x'.repeat(1e6) }] },
      /added_tokens\.0\.content: expected a string of at most 512/,
    ],
    [
      'pieces of 9 million characters',
      { model: { type: 'Unigram', unk_id: 0, vocab: Array(9_000).fill(['x'.repeat(1_000), -1]) } },
      /model\.vocab: has 9000000 characters in all; at most 8000000/,
    ],
    [
      'added tokens of 1.1 million characters',
      { added_tokens: Array.from({ length: 11_000 }, () => ({ id: 1, content: 'x'.repeat(100) })) },
      /added_tokens: has 1100000 characters in all/,
    ],
    [
      'bytes of bytes of bytes',
      { pre_tokenizer: { type: 'Sequence', pretokenizers: Array(60).fill(byteLevel) } },
      /pre_tokenizer: expected steps that make a text at most 256 times as long/,
    ],
    [
      'a pattern that repeats nothing, again and again',
      { normalizer: sequence(Array(4).fill(replacing('(((){1000}){1000}){1000}', 'x'.repeat(60)))) },
      /at most 256 times/,
    ],
    ['a text 5,000 times', template(Array(5_000).fill(a)), /post_processor\.single: expected an array of at most 32/],
    ['a text twice', template([cls, a, a]), /post_processor\.single: expected a template with A, once/],
    ['no second text', template([a], [cls, a]), /post_processor\.pair: expected a template with A and B, each once/],
    [
      'a token type of a billion',
      template([{ SpecialToken: { id: '[CLS]', type_id: 1e9 } }, a]),
      /type_id: expected|post_processor\.single/,
    ],
  ])('is refused by the name of its field: %s', async (_, parts, message) => {
    const error = await failureOf('model_folder', () => loadTokenizer(file(parts)));
    expect(error.message).toMatch(message);
    expect(error.message.length).toBeLessThan(500);
  });

  it('may have 5,000 added tokens and 5,000 pieces with a common beginning', () => {
    const added_tokens = Array.from({ length: 5_000 }, (_, i) => ({
      id: i % 5,
      content: `${'x'.repeat(50)}${i}`,
    }));
    const tokenizer = loadTokenizer({
      ...file({}),
      added_tokens: [...file({}).added_tokens, ...added_tokens],
    });
    expect(tokenizer.encode('x'.repeat(20_000)).ids.length).toBeGreaterThan(0);
    const pieces = Array.from({ length: 5_000 }, (_, i) => `${'x'.repeat(900)}${i}`);
    const bert = loadTokenizer(bertFile([...SPECIAL, ...pieces], { max_input_chars_per_word: 1_000 }));
    expect([...bert.encode(`${'x'.repeat(999)} `.repeat(20)).ids]).toContain(1);
  });

  it.each<[string, object, RegExp]>([
    [
      'words without end',
      { max_input_chars_per_word: 1e9 },
      /model\.max_input_chars_per_word: expected .* 1000 or less/,
    ],
    ['an id that no table has', { vocab: { '[UNK]': 2 ** 40 } }, /model\.vocab\.\[UNK\]: expected a whole number/],
  ])("of BERT's kind is refused by the name of its field: %s", async (_, model, message) => {
    const error = await failureOf('model_folder', () => loadTokenizer(bertFile(SPECIAL, model)));
    expect(error.message).toMatch(message);
  });
});

function bertFile(pieces: readonly string[], model: object) {
  return file({
    normalizer: { type: 'BertNormalizer' },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    model: {
      type: 'WordPiece',
      unk_token: '[UNK]',
      vocab: Object.fromEntries(pieces.map((piece, id) => [piece, id])),
      ...model,
    },
  });
}

describe('withTimeLimit', () => {
  it('gives what the work gives, undefined too, and throws what it throws', () => {
    expect(withTimeLimit(10_000, () => 5)).toBe(5);
    expect(withTimeLimit(10_000, () => undefined)).toBeUndefined();
    const failure = new RangeError('mine');
    expect(() =>
      withTimeLimit(10_000, () => {
        throw failure;
      }),
    ).toThrow(failure);
  });

  it('ends a loop, and works again afterwards', () => {
    expect(() =>
      withTimeLimit(50, () => {
        for (;;);
      }),
    ).toThrow(TimeLimitError);
    expect(withTimeLimit(10_000, () => withTimeLimit(10_000, () => 1))).toBe(1);
  });
});
