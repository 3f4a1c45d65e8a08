import { describe, expect, it } from 'vitest';
import { loadTokenizer, trainWordPiece } from '../../src/text/index.js';
import { failureOf } from '../support/outcomes.js';

const json = trainWordPiece(['the cat sat on the mat'], { vocabularySize: 60, lowercase: true });

describe('loadTokenizer', () => {
  it('loads what trainWordPiece made, also after it was written as text', () => {
    const tokenizer = loadTokenizer(JSON.parse(JSON.stringify(json)));
    expect(tokenizer.vocabularySize).toBe(Object.keys(json.model.vocab).length);
    expect(tokenizer.specialTokens).toEqual({ pad: 0, unknown: 1, classifier: 2, separator: 3, mask: 4 });
    expect(tokenizer.token(2)).toBe('[CLS]');
    expect(tokenizer.token(10_000)).toBeUndefined();
  });

  it('reads BertProcessing as it reads the template', () => {
    const processed = {
      ...json,
      post_processor: { type: 'BertProcessing', sep: ['[SEP]', 3], cls: ['[CLS]', 2] },
    };
    const template = loadTokenizer(json);
    const tokenizer = loadTokenizer(processed);
    for (const pair of [undefined, 'the mat']) {
      const options = pair === undefined ? {} : { pair };
      expect(tokenizer.encode('the cat', options)).toEqual(template.encode('the cat', options));
    }
  });

  it('adds nothing if there is no post-processor', () => {
    const tokenizer = loadTokenizer({ ...json, post_processor: null });
    expect([...tokenizer.encode('the', { pair: 'the' }).sequenceIds]).toEqual([0, 1]);
  });

  it('takes the names of the special tokens from tokenizer_config.json', () => {
    const config = { pad_token: { content: '[MASK]', lstrip: false }, mask_token: '[PAD]' };
    const { specialTokens } = loadTokenizer(json, config);
    expect(specialTokens).toMatchObject({ pad: 4, mask: 0 });
  });

  it("ignores the file's own truncation", () => {
    const truncating = { ...json, truncation: { max_length: 3, strategy: 'LongestFirst', stride: 0 } };
    expect(loadTokenizer(truncating).encode('the cat sat').truncated).toBe(0);
    expect(loadTokenizer(truncating).encode('the cat sat').ids.length).toBeGreaterThan(3);
  });

  it.each([
    ['not an object', 'text', 'tokenizer.json: the file:'],
    ['no model', { ...json, model: undefined }, 'tokenizer.json: model:'],
    [
      'an id that is not a number',
      { ...json, model: { ...json.model, vocab: { ...json.model.vocab, the: 'x' } } },
      'tokenizer.json: model.vocab.the:',
    ],
    [
      'a lowercase option that is not a boolean',
      { ...json, normalizer: { ...json.normalizer, lowercase: 'yes' } },
      'tokenizer.json: normalizer.lowercase:',
    ],
    [
      'an unknown token outside the vocabulary',
      { ...json, model: { ...json.model, unk_token: '<none>' } },
      'tokenizer.json: model.unk_token: "<none>" is not in model.vocab',
    ],
    [
      'a template that uses an undeclared token',
      { ...json, post_processor: { ...json.post_processor, special_tokens: {} } },
      'tokenizer.json: post_processor.special_tokens: "[CLS]"',
    ],
    ['an unknown model', { ...json, model: { type: 'Runes' } }, "tokenizer.json: can't be used:"],
  ])('names the field that is wrong: %s', async (_, wrong, message) => {
    const error = await failureOf('model_folder', () => loadTokenizer(wrong));
    expect(error.message).toContain(message);
  });

  it('says which special token a vocabulary lacks and where to name it', async () => {
    const error = await failureOf('model_folder', () => loadTokenizer(json, { mask_token: '<blank>' }));
    expect(error.message).toContain('mask_token (<blank>)');
    expect(error.message).toContain('tokenizer_config.json');
  });
});
