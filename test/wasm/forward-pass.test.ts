import { describe, expect, it } from 'vitest';
import { readEncoder } from '../../src/encoder/index.js';
import { families } from '../../src/families/index.js';
import { linearInputs, onnxExecutor, type Quantization } from '../../src/graph/index.js';
import type { ModelFolderConfig } from '../../src/models/index.js';
import { inferenceGraph } from '../../src/training/export-model.js';
import { ForwardPass, type PassOutput } from '../../src/wasm/index.js';
import { someNumbers } from '../support/finite-differences.js';
import { toOnnx } from '../support/to-onnx.js';

/** The oracle is ONNX Runtime on the same file. */

const bert = {
  model_type: 'bert',
  vocab_size: 40,
  hidden_size: 24,
  num_hidden_layers: 2,
  num_attention_heads: 2,
  intermediate_size: 32,
  max_position_embeddings: 20,
};

const outputs: Readonly<Record<string, PassOutput & { readonly family: 'Papaya' | 'Grapefruit' | 'Dragonfruit' }>> = {
  'a classifier of the first state': { family: 'Papaya', pooling: 'first', classifier: true },
  'a classifier of the mean': { family: 'Papaya', pooling: 'mean', classifier: true },
  'a classifier of tokens': { family: 'Grapefruit', pooling: 'none', classifier: true },
  'states of tokens': { family: 'Dragonfruit', pooling: 'none', classifier: false },
};

const lengths = [1, 2, 3, 4, 5, 9, 20];
const LABELS = ['a', 'b', 'c'];

async function smallModel({ family, pooling, classifier }: (typeof outputs)[string], bits: 8 | 32, changes = {}) {
  const id2label = Object.fromEntries(LABELS.map((label, id) => [String(id), label]));
  const orchard = {
    ...{ format: 1, family, type: 'multiclass-text-classification', size: 'mini', labels: LABELS },
    ...{ pooling, lowercase: true, max_tokens: 20, files: [] },
  };
  const given: unknown = { ...bert, ...changes, architectures: [], id2label, label2id: {}, orchard };
  const config = given as ModelFolderConfig;
  const encoder = readEncoder(config, 'config.json');
  const graph = await inferenceGraph(families[family], encoder, config);
  const weights = new Map(
    graph.parameters.map(({ name, shape }, at) => {
      const count = shape.map(Number).reduce((product, size) => product * size, 1);
      const centre = name.endsWith('LayerNorm.weight') ? 1 : 0;
      return [name, someNumbers(count, 0.4, at + 1).map((value) => value + centre)] as const;
    }),
  );
  const layers = [...linearInputs(graph).keys()].filter((name) => name.includes('layer.'));
  const tables = { word_embeddings: 4, position_embeddings: 8, token_type_embeddings: 8 } as const;
  const quantization: Quantization = {
    linear: new Map(layers.map((name) => [name, { min: -3, max: 5 }])),
    tables: new Map(
      Object.entries(tables).flatMap(([part, width]) =>
        [...weights.keys()].filter((name) => name.includes(part)).map((name) => [name, width] as const),
      ),
    ),
  };
  const stored = bits === 8 ? { weights, quantization } : { weights };
  const compiled = await onnxExecutor().compile(graph, stored);
  const [[outputName = '', { shape }] = ['', { shape: [] }]] = [...graph.outputs];
  const width = Number(shape.at(-1));
  return {
    pass: ForwardPass.open({
      ...{ config, configFile: 'config.json', maxTokens: 20, pooling, classifier },
      ...{
        graph: Buffer.from(await toOnnx(graph, weights, bits === 8 ? quantization : undefined)),
        graphFile: 'model.onnx',
      },
    }),
    async expected(ids: Int32Array, typeIds: Int32Array): Promise<Float32Array> {
      const dims = pooling === 'none' ? [1, ids.length, width] : [1, width];
      const data = new Float32Array(dims.reduce((product, size) => product * size, 1));
      const feed = (values: Int32Array) => ({
        type: 'int64' as const,
        dims: [1, ids.length],
        data: BigInt64Array.from(values, BigInt),
      });
      const feeds = { input_ids: feed(ids), attention_mask: feed(ids.map(() => 1)), token_type_ids: feed(typeIds) };
      await compiled.run(feeds, { [outputName]: { type: 'float32', dims, data } });
      return data;
    },
    release: () => compiled.release(),
  };
}

const textOf = (length: number) => ({
  ids: Int32Array.from({ length }, (_, at) => (7 * at + 3 * length) % bert.vocab_size),
  typeIds: Int32Array.from({ length }, (_, at) => at % 2),
});

function largestDifference(given: Float32Array, expected: Float32Array): number {
  expect(given.length).toBe(expected.length);
  return given.reduce((most, value, at) => Math.max(most, Math.abs(value - (expected[at] ?? Number.NaN))), 0);
}

describe.each(Object.entries(outputs))('%s', (_, output) => {
  // A float32 sum in another order may round an input to the next of 256 steps, which is a 32nd here.
  it.each([
    { bits: 32 as const, tolerance: 1e-5 },
    { bits: 8 as const, tolerance: 0.03 },
  ])('is that of ONNX Runtime, with weights of $bits bits, for texts of every length', async ({ bits, tolerance }) => {
    const model = await smallModel(output, bits);
    for (const length of lengths) {
      const { ids, typeIds } = textOf(length);
      const expected = await model.expected(ids, typeIds);
      expect(largestDifference(model.pass.run({ ids, typeIds }), expected)).toBeLessThan(tolerance);
    }
    await model.release();
  });
});

describe('a text', () => {
  it('gives the same numbers whatever was read before', async () => {
    const { pass, release } = await smallModel({ family: 'Papaya', pooling: 'mean', classifier: true }, 8);
    const alone = pass.run(textOf(5));
    pass.run(textOf(20));
    expect(pass.run(textOf(5))).toEqual(alone);
    await release();
  });

  it('is refused if the encoder has no row for one of its tokens, or no room', async () => {
    const { pass, release } = await smallModel({ family: 'Papaya', pooling: 'mean', classifier: true }, 32);
    const { typeIds } = textOf(2);
    expect(() => pass.run({ ids: Int32Array.of(1, 40), typeIds })).toThrow('token 1: id 40');
    expect(() => pass.run({ ids: Int32Array.of(-1, 4), typeIds })).toThrow('token 0: id -1');
    expect(() => pass.run({ ids: Int32Array.of(1, 4), typeIds: Int32Array.of(0, 2) })).toThrow('type 2');
    expect(() => pass.run(textOf(21))).toThrow('the encoder reads 1 to 20');
    expect(() => pass.run(textOf(0))).toThrow('0 tokens');
    await release();
  });
});

describe('an encoder', () => {
  const options = { pooling: 'mean', classifier: true, maxTokens: 20, configFile: 'config.json' } as const;
  const open =
    (config: object, graph = new Uint8Array()) =>
    () =>
      ForwardPass.open({ ...options, config: { ...bert, ...config }, graph, graphFile: 'model.onnx' });

  it('of another kind is refused with the field that says so', () => {
    expect(open({ model_type: 'modernbert' })).toThrow('config.json');
    expect(open({ model_type: 'modernbert' })).toThrow('model_type');
    expect(open({ hidden_act: 'relu' })).toThrow('hidden_act');
    expect(open({ hidden_size: 20 })).toThrow('hidden_size 20 is not a multiple of 8');
    expect(open({ intermediate_size: 30 })).toThrow('intermediate_size 30 is not a multiple of 8');
    expect(open({ num_attention_heads: 12 })).toThrow('num_attention_heads 12');
  });

  it('of a damaged file is refused with its name', async () => {
    expect(open({}, Buffer.from('no graph'))).toThrow('model.onnx');
    await expect(smallModel({ family: 'Dragonfruit', pooling: 'none', classifier: true }, 32)).rejects.toThrow(
      'lacks the tensor classifier.weight',
    );
    const short = { max_position_embeddings: 10 };
    await expect(smallModel({ family: 'Papaya', pooling: 'mean', classifier: true }, 32, short)).rejects.toThrow(
      'has 10 positions, but a text may have 20 tokens',
    );
  });
});
