import { describe, expect, it } from 'vitest';
import { SharedTokenizers } from '../../src/inference/text-model.js';
import { trainWordPiece } from '../../src/text/index.js';
import { failureOf } from '../support/outcomes.js';

const json = trainWordPiece(['the lamp was awful', 'my order came on time'], {
  vocabularySize: 80,
  lowercase: true,
});
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
