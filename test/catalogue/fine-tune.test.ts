import { expect, test } from 'vitest';
import { devAccuracy } from '../../models/recipes/backbones/check/fine-tune.js';
import { newEncoder, readEncoder } from '../../src/encoder/index.js';
import { Random } from '../../src/system/numbers.js';
import { englishTokenizer, loadTokenizer } from '../../src/text/index.js';

const tokenizer = loadTokenizer(englishTokenizer());
const fields = {
  ...newEncoder('mini', tokenizer.vocabularySize).config,
  num_hidden_layers: 1,
  hidden_size: 64,
  num_attention_heads: 2,
  intermediate_size: 128,
};
const encoder = readEncoder(fields, 'config.json');

test('the check of a backbone fine-tunes until one telling word decides', async () => {
  const random = Random.fromSeed(5);
  const fillers = ['a', 'book', 'of', 'songs', 'with', 'its', 'cast', 'and', 'the', 'plot'];
  const rows = Array.from({ length: 120 }, (_, at) => {
    const isGood = at % 2 === 0;
    const words = Array.from({ length: 2 + (at % 5) }, () => fillers[random.integer(fillers.length)]);
    return { text: [...words, isGood ? 'lovely' : 'dull'].join(' '), labels: [isGood ? 'good' : 'bad'] };
  });
  const texts = {
    type: 'binary-text-classification',
    labels: ['bad', 'good'],
    train: rows.slice(0, 80),
    dev: rows.slice(80),
    test: [],
  } as const;
  const accuracy = await devAccuracy(texts, { tokenizer, encoder, weights: new Map(), threads: 1 });
  expect(accuracy).toBeGreaterThan(0.85);
});
