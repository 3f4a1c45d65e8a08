import { describe, expect, it } from 'vitest';
import {
  type BertConfig,
  bertEncoder,
  bertParameters,
  exportedInputs,
  parseBertConfig,
  pooledStates,
  trainingInputs,
} from '../../src/encoder/index.js';
import { Graph, onnxExecutor, type Tensor, type TensorData } from '../../src/graph/index.js';
import { gradientError, someNumbers } from '../support/finite-differences.js';
import { failureOf } from '../support/outcomes.js';

const config: BertConfig = parseBertConfig(
  {
    model_type: 'bert',
    vocab_size: 11,
    hidden_size: 8,
    num_hidden_layers: 2,
    num_attention_heads: 2,
    intermediate_size: 12,
    max_position_embeddings: 6,
  },
  'config.json',
);

const [tokens, batch] = [4, 3];
/** Sequences of 4, 2 and 3 tokens, as [tokens, batch]. */
const ids = [1, 2, 3, 4, 5, 6, 7, 0, 8, 9, 0, 0];
const types = [0, 0, 0, 0, 1, 0, 1, 0, 1, 1, 0, 0];
const lengths = [4, 2, 3];
const sentinel = -1e9;
const bias = lengths.flatMap((length) =>
  Array.from({ length: tokens }, (_, i) => (i < length ? 0 : sentinel)),
);
const share = Array.from({ length: tokens * batch }, (_, at) => {
  const length = lengths[at % batch] ?? 1;
  return Math.floor(at / batch) < length ? 1 / length : 0;
});

const feeds: Readonly<Record<string, TensorData>> = {
  ids: { type: 'int32', dims: [tokens, batch], data: Int32Array.from(ids) },
  token_types: { type: 'int32', dims: [tokens, batch], data: Int32Array.from(types) },
  positions: { type: 'int32', dims: [tokens, 1], data: Int32Array.of(0, 1, 2, 3) },
  attention_bias: { type: 'float32', dims: [batch, 1, 1, tokens], data: Float32Array.from(bias) },
  token_share: { type: 'float32', dims: [tokens, batch, 1], data: Float32Array.from(share) },
  first_token: { type: 'float32', dims: [tokens, 1, 1], data: Float32Array.of(1, 0, 0, 0) },
};

/** Large enough weights that every path of the encoder matters. */
function parameters() {
  return new Map(
    bertParameters(config, '').map(({ name, shape, start }, index) => {
      const count = shape.reduce((product, dimension) => product * dimension, 1);
      const centre = 'value' in start ? start.value : 0;
      const values = someNumbers(count, 0.4, index + 1).map((value) => value + centre);
      return [name, { dims: shape, values }];
    }),
  );
}

describe('the BERT encoder', () => {
  it.each(['mean', 'first'] as const)(
    'has gradients that agree with finite differences over all parameters, pooled by %s',
    async (pooling) => {
      const unused = pooling === 'mean' ? 'first_token' : 'token_share';
      const error = await gradientError({
        parameters: parameters(),
        feeds: Object.fromEntries(Object.entries(feeds).filter(([name]) => name !== unused)),
        loss(graph) {
          const inputs = trainingInputs(graph);
          const pooled = pooledStates(graph, config, inputs, { prefix: '', pooling, differentiable: true });
          const weights = graph.constant([...someNumbers(8, 1, 5)], [8]);
          return graph.reduceSum(graph.tanh(graph.multiply(pooled, weights)), [0, 1]);
        },
      });
      expect(error).toBeLessThan(2e-3);
    },
  );

  it('gives a text the same states alone as padded in a batch', async () => {
    const together = await states(feeds);
    const alone = await states({
      ids: { type: 'int32', dims: [2, 1], data: Int32Array.of(2, 5) },
      token_types: { type: 'int32', dims: [2, 1], data: Int32Array.of(0, 1) },
      positions: { type: 'int32', dims: [2, 1], data: Int32Array.of(0, 1) },
      attention_bias: { type: 'float32', dims: [1, 1, 1, 2], data: new Float32Array(2) },
    });
    const rows = [together.subarray(8, 16), together.subarray(32, 40)];
    rows.forEach((row, token) => {
      row.forEach((value, at) => {
        expect(alone[token * 8 + at]).toBeCloseTo(value, 5);
      });
    });
  });

  it.each(['first', 'mean'] as const)(
    'pools by %s on export, from Hugging Face inputs, as it does in training',
    async (pooling) => {
      const trained = await pooled(pooling, true);
      const exported = await pooled(pooling, false);
      expect(exported).toHaveLength(batch * 8);
      exported.forEach((value, at) => {
        expect(value).toBeCloseTo(trained[at] ?? Number.NaN, 5);
      });
    },
  );

  it('refuses a config that it would compute differently from Hugging Face, with the reason', async () => {
    const refused = await failureOf('model_folder', () =>
      parseBertConfig({ ...config, hidden_act: 'relu' }, 'config.json'),
    );
    expect(refused.message).toContain('hidden_act');
    const uneven = await failureOf('model_folder', () =>
      parseBertConfig({ ...config, num_attention_heads: 3 }, 'config.json'),
    );
    expect(uneven.message).toContain('not a multiple of num_attention_heads 3');
  });
});

async function run(graph: Graph, result: Tensor, inputs: Readonly<Record<string, TensorData>>, size: number) {
  graph.output('result', result);
  const compiled = await onnxExecutor().compile(graph, {
    weights: new Map([...parameters()].map(([name, { values }]) => [name, values])),
  });
  const data = new Float32Array(size);
  const used = graph.inputs.flatMap(({ name }) => {
    const feed = inputs[name];
    return feed === undefined ? [] : [[name, feed] as const];
  });
  await compiled.run(Object.fromEntries(used), {
    result: { type: 'float32', dims: [size / 8, 8], data },
  });
  await compiled.release();
  return data;
}

function states(inputs: Readonly<Record<string, TensorData>>): Promise<Float32Array> {
  const graph = new Graph();
  const hidden = bertEncoder(graph, config, trainingInputs(graph), { prefix: '' });
  return run(graph, hidden, inputs, (inputs.ids?.data.length ?? 0) * 8);
}

function pooled(pooling: 'first' | 'mean', differentiable: boolean): Promise<Float32Array> {
  const graph = new Graph();
  const inputs = differentiable ? trainingInputs(graph) : exportedInputs(graph);
  const result = pooledStates(graph, config, inputs, { prefix: '', pooling, differentiable });
  return run(graph, result, differentiable ? feeds : exportedFeeds(), batch * 8);
}

/** The same sequences as Hugging Face takes them: int64 [batch, tokens]. */
function exportedFeeds(): Record<string, TensorData> {
  const turned = (values: readonly number[]) =>
    BigInt64Array.from({ length: tokens * batch }, (_, at) =>
      BigInt(values[(at % tokens) * batch + Math.floor(at / tokens)] ?? 0),
    );
  const dims = [batch, tokens];
  const mask = bias.map((value) => BigInt(Number(value === 0)));
  return {
    input_ids: { type: 'int64', dims, data: turned(ids) },
    attention_mask: { type: 'int64', dims, data: BigInt64Array.from(mask) },
    token_type_ids: { type: 'int64', dims, data: turned(types) },
  };
}
