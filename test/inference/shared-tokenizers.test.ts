import { describe, expect, it } from 'vitest';
import { RememberingTokenizer, SharedTokenizers } from '../../src/inference/text-model.js';
import { type EncodeOptions, loadTokenizer, trainWordPiece } from '../../src/text/index.js';
import { failureOf } from '../support/outcomes.js';

const json = trainWordPiece(['the lamp was awful', 'my order came on time'], {
  vocabularySize: 80,
  lowercase: true,
});
const tokenizer = loadTokenizer(json);

/** Counts how often texts are encoded. */
function counted() {
  const encoded: string[] = [];
  const encode = (text: string, options?: EncodeOptions) => {
    encoded.push(text);
    return tokenizer.encode(text, options);
  };
  const { vocabularySize, specialTokens } = tokenizer;
  const token = (id: number) => tokenizer.token(id);
  return { encoded, tokenizer: new RememberingTokenizer({ vocabularySize, specialTokens, encode, token }) };
}

describe('the tokenizers of several models', () => {
  it('are the same one if their files are equal', () => {
    const shared = new SharedTokenizers();
    const first = shared.load('key', structuredClone(json), { model_max_length: 256 });
    expect(shared.load('key', structuredClone(json), { model_max_length: 256 })).toBe(first);
  });

  it('are different ones if a file differs', () => {
    const shared = new SharedTokenizers();
    const cased = trainWordPiece(['The Lamp'], { vocabularySize: 80, lowercase: false });
    const loaded = [
      shared.load('a', json, {}),
      shared.load('b', cased, {}),
      shared.load('c', json, { unk_token: '[UNK]' }),
    ];
    expect(new Set(loaded)).toHaveLength(3);
  });

  it('fail for an invalid file, each time', async () => {
    const shared = new SharedTokenizers();
    for (let time = 0; time < 2; time += 1) {
      await failureOf('model_folder', () => shared.load('key', {}, {}));
    }
  });
});

describe('a tokenizer that remembers', () => {
  it('gives the same as the one behind it, the first time and again', () => {
    const { tokenizer: remembering } = counted();
    for (const text of ['the lamp', '', 'the lamp', 'order order', '']) {
      for (const options of [{}, { maxLength: 3 }, { pair: 'my time' }, { maxLength: 5, pair: text }]) {
        expect(remembering.encode(text, options)).toEqual(tokenizer.encode(text, options));
      }
    }
    expect(remembering.token(5)).toBe(tokenizer.token(5));
  });

  it('encodes a text once for each length that is asked for', () => {
    const { encoded, tokenizer: remembering } = counted();
    for (let time = 0; time < 3; time += 1) {
      for (const maxLength of [4, 5]) remembering.encode('the lamp', { maxLength });
      remembering.encode('the lamp');
    }
    expect(encoded).toHaveLength(3);
  });

  it('forgets what was asked long ago', () => {
    const { encoded, tokenizer: remembering } = counted();
    const texts = Array.from({ length: 500 }, (_, at) => `lamp ${at}`);
    for (const text of texts) remembering.encode(text);
    remembering.encode(texts[499] ?? '');
    expect(encoded).toHaveLength(500);
    remembering.encode(texts[0] ?? '');
    expect(encoded).toHaveLength(501);
  });

  it('keeps no text of more tokens than it may hold', () => {
    const { encoded, tokenizer: remembering } = counted();
    const text = 'lamp '.repeat(70_000);
    remembering.encode(text);
    remembering.encode(text);
    expect(encoded).toHaveLength(2);
  });
});
