import { describe, expect, it } from 'vitest';
import { loadTokenizer, TextReader, type Tokenizer } from '../../src/text/index.js';
import { failureOf } from '../support/outcomes.js';
import { tokenizerFrame } from './tokenizer-parts.js';

const SPECIAL = ['<pad>', '<unk>', '<s>', '</s>', '<mask>'];
const metaspace = { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true };

/** What a pattern matches depends on the engine. */
const words = { type: 'Split', pattern: { Regex: '\\s+(?!\\S)|\\s+' }, behavior: 'Removed', invert: false };

const json = {
  ...tokenizerFrame(SPECIAL),
  pre_tokenizer: { type: 'Sequence', pretokenizers: [words, metaspace] },
  decoder: metaspace,
  post_processor: {
    type: 'RobertaProcessing',
    sep: ['</s>', 3],
    cls: ['<s>', 2],
    trim_offsets: true,
    add_prefix_space: false,
  },
  model: {
    type: 'Unigram',
    unk_id: 1,
    vocab: [...SPECIAL.map((token) => [token, 0]), ['▁the', -2], ['▁cat', -3], ['s', -4], ['▁', -5]],
  },
};

describe('a tokenizer with steps that only @huggingface/tokenizers knows', () => {
  it('adds the special tokens and keeps them when it truncates', () => {
    const tokenizer = loadTokenizer(json);
    expect(tokensOf(tokenizer, 'the cats')).toEqual(['<s>', '▁the', '▁cat', 's', '</s>']);
    expect(tokensOf(tokenizer, 'the cats', { maxLength: 4 })).toEqual(['<s>', '▁the', '▁cat', '</s>']);
    expect(tokenizer.encode('the cats', { maxLength: 4 }).truncated).toBe(1);
    expect(() => tokenizer.encode('the cats', { maxLength: 1 })).toThrow(RangeError);
  });

  it('puts a pair between the special tokens of its model', () => {
    const { sequenceIds } = loadTokenizer(json).encode('the', { pair: 'cats' });
    const pieces = ['<s>', '▁the', '</s>', '</s>', '▁cat', 's', '</s>'];
    expect(tokensOf(loadTokenizer(json), 'the', { pair: 'cats' })).toEqual(pieces);
    expect([...sequenceIds]).toEqual([-1, 0, -1, -1, 1, 1, -1]);
  });

  it('truncates the longer text of a pair first, and counts what it cut off', () => {
    const tokenizer = loadTokenizer(json);
    const options = { pair: 'cats', maxLength: 8 };
    expect(tokensOf(tokenizer, 'the the the the the', options)).toEqual([
      ...['<s>', '▁the', '▁the', '</s>'],
      ...['</s>', '▁cat', 's', '</s>'],
    ]);
    expect(tokenizer.encode('the the the the the', options).truncated).toBe(3);
    expect(tokenizer.encode('the', options).truncated).toBe(0);
  });

  it('gives no offsets and says why', () => {
    const tokenizer = loadTokenizer(json);
    expect(tokenizer.encode('the cats').offsets).toBeNull();
    expect(tokenizer.withoutOffsets).toBe('the pattern "\\\\s+(?!\\\\S)|\\\\s+"');
  });

  it('can be read for classes, but is refused for entities, with what to do', async () => {
    const tokenizer = loadTokenizer(json);
    const reader = new TextReader(tokenizer, { max_tokens: 16, pooling: 'first' });
    expect(reader.read(['the cats'])[0]?.encoding.ids).toHaveLength(5);
    const error = await failureOf('model_folder', () => new TextReader(tokenizer, { max_tokens: 16, pooling: 'none' }));
    expect(error.message).toContain('is unknown with the pattern');
    expect(error.message).toContain('choose a backbone with another tokenizer');
  });
});

function tokensOf(tokenizer: Tokenizer, text: string, options?: { maxLength?: number; pair?: string }) {
  return Array.from(tokenizer.encode(text, options).ids, (id) => tokenizer.token(id));
}
