import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { grow, readSmallEncoder, type SmallEncoder } from '../../models/recipes/backbones/student/grow-student.js';
import { initialize, newEncoder, readEncoder, trainingInputs } from '../../src/encoder/index.js';
import { feedsFor, padBatch } from '../../src/engine/index.js';
import { Graph, onnxExecutor } from '../../src/graph/index.js';
import { Random } from '../../src/system/numbers.js';
import { englishTokenizer, loadTokenizer } from '../../src/text/index.js';

const mini = readSmallEncoder(fileURLToPath(new URL('../../models/backbones/english-mini', import.meta.url)));
const encoder = newEncoder('base', mini.encoder.vocabularySize);

/** A base encoder's weights at random; its words as scattered as they are in recipes. */
function randomBase(): Map<string, Float32Array> {
  const random = Random.fromSeed(1, 0);
  return new Map(
    encoder.parameters('').map((parameter) => {
      const values = new Float32Array(parameter.shape.reduce((product, size) => product * size, 1));
      initialize(parameter, values, () => random.normal());
      const scale = parameter.name.includes('word_embeddings') ? 2.5 : 1;
      return [parameter.name, values.map((value) => value * scale)];
    }),
  );
}

/** The last states of one text: a row per token. */
async function states({ encoder, weights }: SmallEncoder, text: string): Promise<Float32Array[]> {
  const tokenizer = loadTokenizer(englishTokenizer());
  const padded = padBatch([tokenizer.encode(text)], encoder);
  const graph = new Graph();
  graph.output('states', encoder.states(graph, trainingInputs(graph), { prefix: '' }));
  const compiled = await onnxExecutor().compile(graph, { weights });
  const { tokens } = padded.sizes;
  const width = encoder.width;
  const data = new Float32Array(tokens * width);
  const names = new Set(graph.inputs.map(({ name }) => name));
  await compiled.run(feedsFor(padded, names), {
    states: { type: 'float32', dims: [tokens, width], data },
  });
  await compiled.release();
  return Array.from({ length: tokens }, (_, token) => data.subarray(token * width, (token + 1) * width));
}

function cosine(a: Float32Array, b: Float32Array): number {
  const dot = (x: Float32Array, y: Float32Array) => x.reduce((sum, value, at) => sum + value * (y[at] ?? 0), 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

test('a grown encoder starts out with nearly the states of the small one', async () => {
  const text = 'The parcel came late, and nobody at the desk could say where it had been.';
  const large = randomBase();
  grow(mini, encoder, large);
  const before = await states(mini, text);
  const after = await states({ encoder, weights: large }, text);
  const same = before.map((state, token) => cosine(state, (after[token] ?? state).subarray(0, state.length)));
  expect(Math.min(...same)).toBeGreaterThan(0.9);
});

test('heads of another width cannot carry over', () => {
  const other = readEncoder({ ...encoder.config, num_attention_heads: 12 }, 'config.json');
  expect(() => grow(mini, other, randomBase())).toThrow('another width');
});
