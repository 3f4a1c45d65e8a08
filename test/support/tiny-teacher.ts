import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readEncoder } from '../../src/encoder/index.js';
import { encodeSafetensors } from '../../src/models/index.js';
import { Random } from '../../src/system/numbers.js';
import { loadTokenizer, trainWordPiece } from '../../src/text/index.js';
import { someNumbers } from './finite-differences.js';

const words = ['play', 'playing', 'games', 'unbelievable', 'believe', 'rain', 'paint', 'the'];
const random = Random.fromSeed(9);
/** Fourteen short texts. */
export const passages = Array.from({ length: 14 }, () =>
  Array.from({ length: 2 + random.integer(5) }, () => words[random.integer(words.length)]).join(' '),
);
/** The tokenizers of a teacher and of its student, which split most words otherwise. */
export const coarse = trainWordPiece(Array(5).fill(`query: ${words.join(' ')}`), {
  vocabularySize: 200,
  lowercase: true,
});
export const fine = trainWordPiece([words.join(' ')], { vocabularySize: 200, lowercase: true });

/** Writes a teacher of random weights with a masked-language head. */
export function writeTeacher(path: string): void {
  const config = {
    model_type: 'bert',
    vocab_size: loadTokenizer(coarse).vocabularySize,
    hidden_size: 16,
    num_hidden_layers: 2,
    num_attention_heads: 2,
    intermediate_size: 32,
    max_position_embeddings: 64,
  };
  const head = ['dense.weight', 'dense.bias', 'LayerNorm.weight', 'LayerNorm.bias'].map((name) => ({
    name: `cls.predictions.transform.${name}`,
    shape: name === 'dense.weight' ? [16, 16] : [16],
  }));
  const specs = [...readEncoder(config, 'config.json').parameters('bert.'), ...head];
  const tensors = specs.map(({ name, shape }, at) => {
    const size = shape.reduce((product, each) => product * each, 1);
    return [name, { shape, values: someNumbers(size, 0.8, at + 3) }] as const;
  });
  mkdirSync(path);
  writeFileSync(join(path, 'config.json'), JSON.stringify(config));
  writeFileSync(join(path, 'tokenizer.json'), JSON.stringify(coarse));
  writeFileSync(join(path, 'tokenizer_config.json'), '{}');
  writeFileSync(join(path, 'model.safetensors'), encodeSafetensors(new Map(tensors)));
}
