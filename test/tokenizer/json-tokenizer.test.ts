import { describe, expect, it } from 'vitest';
import { loadTokenizer, type Tokenizer } from '../../src/tokenizer/index.js';
import { hardTexts } from './generated-texts.js';
import { encodeByRust, rustTokenizer, withoutRust } from './rust-tokenizers.js';
import {
  byteCharacters,
  byteLevelStep,
  bytePairModel,
  tokenizerFrame,
  vocabularyOf,
} from './tokenizer-parts.js';

const SPECIAL = ['<pad>', '<unk>', '<s>', '</s>', '<mask>'];

const common = {
  ...tokenizerFrame(SPECIAL),
  post_processor: {
    type: 'RobertaProcessing',
    sep: ['</s>', 3],
    cls: ['<s>', 2],
    trim_offsets: true,
    add_prefix_space: false,
  },
};

const byteLevel = {
  ...common,
  pre_tokenizer: byteLevelStep(true),
  decoder: byteLevelStep(true),
  model: bytePairModel(
    '<unk>',
    [...SPECIAL, ...byteCharacters, 'th', 'the', 'Ġt', 'Ġc', 'at'],
    [
      ['t', 'h'],
      ['th', 'e'],
      ['Ġ', 't'],
      ['Ġ', 'c'],
      ['a', 't'],
    ],
  ),
};

const unigram = {
  ...common,
  normalizer: { type: 'NFKC' },
  pre_tokenizer: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true },
  decoder: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true },
  model: {
    type: 'Unigram',
    unk_id: 1,
    vocab: [
      ...SPECIAL.map((token) => [token, 0]),
      ['▁the', -2],
      ['▁cat', -3],
      ['s', -4],
      ['▁', -5],
      ['fi', -4],
    ],
  },
};

/** WordPiece as BERT has it, but not BERT's splitting. */
const wordPiece = {
  ...common,
  pre_tokenizer: { type: 'WhitespaceSplit' },
  decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
  model: {
    type: 'WordPiece',
    unk_token: '<unk>',
    continuing_subword_prefix: '##',
    max_input_chars_per_word: 100,
    vocab: vocabularyOf([...SPECIAL, 'the', 'cat', '##s']),
  },
};

describe('JsonTokenizer', () => {
  it('adds the special tokens and keeps them when it truncates', () => {
    const tokenizer = load(unigram);
    expect(tokensOf(tokenizer, 'the cats')).toEqual(['<s>', '▁the', '▁cat', 's', '</s>']);
    expect(tokensOf(tokenizer, 'the cats', { maxLength: 4 })).toEqual(['<s>', '▁the', '▁cat', '</s>']);
    expect(tokenizer.encode('the cats', { maxLength: 4 }).truncated).toBe(1);
    expect(() => tokenizer.encode('the cats', { maxLength: 1 })).toThrow(RangeError);
  });

  it('puts a pair between the special tokens of its model', () => {
    const { sequenceIds, offsets } = load(unigram).encode('the', { pair: 'cats' });
    expect(tokensOf(load(unigram), 'the', { pair: 'cats' })).toEqual([
      '<s>',
      '▁the',
      '</s>',
      '</s>',
      '▁cat',
      's',
      '</s>',
    ]);
    expect([...sequenceIds]).toEqual([-1, 0, -1, -1, 1, 1, -1]);
    expect(Array.from(offsets ?? [])).toEqual([0, 0, 0, 3, 0, 0, 0, 0, 0, 3, 3, 4, 0, 0]);
  });

  it('truncates the longer text of a pair first, and counts what it cut off', () => {
    const tokenizer = load(unigram);
    const options = { pair: 'cats', maxLength: 8 };
    expect(tokensOf(tokenizer, 'the the the the the', options)).toEqual([
      ...['<s>', '▁the', '▁the', '</s>'],
      ...['</s>', '▁cat', 's', '</s>'],
    ]);
    expect(tokenizer.encode('the the the the the', options).truncated).toBe(3);
    expect(tokenizer.encode('the', options).truncated).toBe(0);
  });

  it('leaves the space before a word out of its offsets', () => {
    expect(spans(load(unigram), 'the cats ﬁ')).toEqual(['the', 'cat', 's', '', 'ﬁ']);
  });

  it('gives an unknown piece the text between its neighbours', () => {
    expect(tokensOf(load(wordPiece), 'the ☃ cats')).toEqual(['<s>', 'the', '<unk>', 'cat', '##s', '</s>']);
    expect(spans(load(wordPiece), 'the ☃ cats')).toEqual(['the', '☃', 'cat', 's']);
    expect(spans(load(wordPiece), '☃ the dog cats ☃☃')).toEqual(['☃', 'the', 'dog', 'cat', 's', '☃☃']);
  });

  it.each(['☃ ☃', '☃ cat ☃ cat ☃'])('gives no offsets if they are ambiguous: %s', (text) => {
    expect(load(wordPiece).encode(text).offsets).toBeNull();
  });

  it('gives no offsets if the normaliser rewrites the text', () => {
    const rewriting = {
      ...unigram,
      normalizer: { type: 'Replace', pattern: { String: 'dog' }, content: 'cat' },
    };
    expect(load(rewriting).encode('the dog').offsets).toBeNull();
    expect(load(rewriting).encode('the cat').offsets).not.toBeNull();
  });

  it('gives all byte pieces of a character its whole span', () => {
    expect(spans(load(byteLevel), 'the 👍!')).toEqual(['the', '', '👍', '👍', '👍', '👍', '!']);
  });

  describe.skipIf(withoutRust)('against the Rust tokenizers package', () => {
    it('has the ids of byte-level BPE, and its offsets for every piece that is more than space or marks', async () => {
      const tokenizer = load(byteLevel);
      const reference = rustTokenizer(byteLevel);
      let compared = 0;
      for (const hard of hardTexts(300, 4)) {
        const text = hard.replace(/[\s\p{C}\p{M}]+/gu, '');
        const expected = await encodeByRust(reference, text);
        const { ids, offsets } = tokenizer.encode(text);
        expect([...ids]).toEqual(expected.ids);
        for (let token = 0; offsets !== null && token < ids.length; token++) {
          const span = [...offsets.subarray(2 * token, 2 * token + 2)];
          if (span[0] === span[1]) continue;
          expect([text, ...span]).toEqual([text, ...expected.offsets.slice(2 * token, 2 * token + 2)]);
          compared++;
        }
      }
      expect(compared).toBeGreaterThan(5000);
    });
  });
});

function load(json: unknown): Tokenizer {
  return loadTokenizer(json);
}

function tokensOf(tokenizer: Tokenizer, text: string, options?: { maxLength?: number; pair?: string }) {
  return Array.from(tokenizer.encode(text, options).ids, (id) => tokenizer.token(id));
}

/** What each piece of the text stands for. */
function spans(tokenizer: Tokenizer, text: string): string[] {
  const { sequenceIds, offsets } = tokenizer.encode(text);
  if (offsets === null) throw new Error('no offsets');
  return [...sequenceIds.keys()]
    .filter((index) => sequenceIds[index] === 0)
    .map((index) => text.slice(offsets[2 * index], offsets[2 * index + 1]));
}
