import { describe, expect, it } from 'vitest';
import { ValidationError } from '../../src/contract/errors.js';
import { englishTokenizer, joinParts, loadTokenizer, partsOf, TextReader } from '../../src/text/index.js';

/** Two texts as the encoder reads them: as `BertTokenizer` and `RobertaTokenizer` of transformers lay them out. */

const roberta = {
  added_tokens: ['<s>', '<pad>', '</s>', '<unk>', '<mask>'].map((content, id) => ({
    ...{ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true },
  })),
  normalizer: null,
  pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
  post_processor: {
    ...{ type: 'RobertaProcessing', sep: ['</s>', 2], cls: ['<s>', 0], trim_offsets: true, add_prefix_space: false },
  },
  decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
  model: {
    ...{ type: 'BPE', dropout: null, unk_token: null, continuing_subword_prefix: '', end_of_word_suffix: '' },
    ...{ fuse_unk: false, byte_fallback: false, merges: [] },
    vocab: { '<s>': 0, '<pad>': 1, '</s>': 2, '<unk>': 3, '<mask>': 4, a: 5, b: 6 },
  },
};

function read(json: unknown, maxTokens: number, first: string, second: string) {
  const tokenizer = loadTokenizer(json);
  const reader = new TextReader(tokenizer, { max_tokens: maxTokens, parts: 'pair' });
  const [window] = reader.read([joinParts(first, second)]);
  const { ids = [], typeIds = [], truncated } = window?.encoding ?? {};
  return { tokens: Array.from(ids, (id) => tokenizer.token(id)), types: [...typeIds], truncated };
}

describe('a pair of texts', () => {
  it('is [CLS] a [SEP] b [SEP] for BERT, the second text and its end being of segment 1', () => {
    expect(read(englishTokenizer(), 16, 'the one', 'the other')).toEqual({
      tokens: ['[CLS]', 'the', 'one', '[SEP]', 'the', 'other', '[SEP]'],
      types: [0, 0, 0, 0, 1, 1, 1],
      truncated: 0,
    });
  });

  it('is <s> a </s></s> b </s> for RoBERTa, all of segment 0', () => {
    expect(read(roberta, 16, 'ab', 'b')).toEqual({
      tokens: ['<s>', 'a', 'b', '</s>', '</s>', 'b', '</s>'],
      types: [0, 0, 0, 0, 0, 0, 0],
      truncated: 0,
    });
  });

  it('loses the end of the longer text first', () => {
    expect(read(roberta, 8, 'aaaaaa', 'bb').tokens.join('')).toBe('<s>aa</s></s>bb</s>');
    expect(read(roberta, 8, 'a', 'bbbbbb').tokens.join('')).toBe('<s>a</s></s>bbb</s>');
    expect(read(roberta, 8, 'aaaaaa', 'bbbbbb')).toMatchObject({ truncated: 8 });
  });

  it('keeps both texts as they are, whatever is in them', () => {
    for (const [first, second] of [
      ['', ''],
      ['3 a', 'b\u001f9 '],
      ['\n', '🎉'],
    ] as const) {
      expect(partsOf(joinParts(first, second))).toEqual([first, second]);
    }
  });

  it('is no single text, even one that begins with a number', () => {
    const reader = new TextReader(loadTokenizer(roberta), { max_tokens: 8, parts: 'pair' });
    expect(() => reader.read(['3 red apples'])).toThrow(ValidationError);
    expect(() => reader.read(['3 red apples'])).toThrow('give predict { text, text2 }');
  });
});
