import { describe, expect, it } from 'vitest';
import {
  checkpointWeights,
  type Encoder,
  type EncoderInputs,
  encoderTypes,
  exportedInputs,
  type ParameterSpec,
  pooledStates,
  readEncoder,
  trainingInputs,
} from '../../src/encoder/index.js';
import { feedsFor, padBatch } from '../../src/engine/index.js';
import { Graph, onnxExecutor, type Tensor, type TensorData } from '../../src/graph/index.js';
import { gradientError, someNumbers } from '../support/finite-differences.js';
import { failureOf } from '../support/outcomes.js';
import { smallConfigs } from './small-configs.js';

/** What every architecture must hold to, whatever it computes. A new one adds a small config to small-configs.ts. */

const MODEL = 'model.safetensors';
const OUTPUTS = 3;
/** Sequences of 4, 2 and 3 tokens, some ids twice; none is the padding token's. */
const sequences = [
  { ids: [2, 5, 7, 8], types: [0, 0, 1, 1] },
  { ids: [3, 5], types: [0, 1] },
  { ids: [9, 2, 4], types: [0, 0, 0] },
];

function batchOf(encoder: Encoder, texts = sequences) {
  const encodings = texts.map(({ ids, types }) => ({
    ids: Int32Array.from(ids),
    typeIds: Int32Array.from(types, (type) => Math.min(type, Math.max(0, encoder.tokenTypes - 1))),
    sequenceIds: new Int32Array(ids.length),
    offsets: null,
    truncated: 0,
  }));
  return { encodings, padded: padBatch(encodings, encoder) };
}

/** Large enough weights that every path of the encoder matters. */
function someWeights(parameters: readonly ParameterSpec[]) {
  return new Map(
    parameters.map(({ name, shape, start }, index) => {
      const count = shape.reduce((product, dimension) => product * dimension, 1);
      const centre = 'value' in start ? start.value : 0;
      const values = someNumbers(count, 0.4, index + 1).map((value) => value + centre);
      return [name, { dims: shape, values }] as const;
    }),
  );
}

type Build = (graph: Graph, inputs: EncoderInputs) => Tensor;

/** Runs what `build` adds to a graph over training inputs or over exported ones. */
async function run(
  encoder: Encoder,
  parameters: readonly ParameterSpec[],
  build: Build,
  { form, texts = sequences, dims }: { form: 'training' | 'exported'; texts?: typeof sequences; dims: number[] },
): Promise<Float32Array> {
  const graph = new Graph();
  graph.output('result', build(graph, form === 'training' ? trainingInputs(graph) : exportedInputs(graph)));
  const weights = new Map([...someWeights(parameters)].map(([name, { values }]) => [name, values]));
  const compiled = await onnxExecutor().compile(graph, { weights });
  const data = new Float32Array(dims.reduce((product, size) => product * size, 1));
  const feeds = form === 'training' ? trainingFeeds(graph, encoder, texts) : exportedFeeds(graph, encoder, texts);
  await compiled.run(feeds, { result: { type: 'float32', dims, data } });
  await compiled.release();
  return data;
}

const namesOf = (graph: Graph) => new Set(graph.inputs.map(({ name }) => name));

const trainingFeeds = (graph: Graph, encoder: Encoder, texts: typeof sequences) =>
  feedsFor(batchOf(encoder, texts).padded, namesOf(graph));

/** The same sequences as Hugging Face takes them: int64 [batch, tokens]. */
function exportedFeeds(graph: Graph, encoder: Encoder, texts: typeof sequences): Record<string, TensorData> {
  const { encodings } = batchOf(encoder, texts);
  const tokens = Math.max(...encodings.map(({ ids }) => ids.length));
  const grid = (valueAt: (row: (typeof encodings)[number], token: number) => number): TensorData => ({
    type: 'int64',
    dims: [encodings.length, tokens],
    data: BigInt64Array.from(
      encodings.flatMap((row) => Array.from({ length: tokens }, (_, token) => BigInt(valueAt(row, token)))),
    ),
  });
  const all: Readonly<Record<string, TensorData>> = {
    input_ids: grid(({ ids }, token) => ids[token] ?? encoder.padId),
    attention_mask: grid(({ ids }, token) => (token < ids.length ? 1 : 0)),
    token_type_ids: grid(({ typeIds }, token) => typeIds[token] ?? 0),
  };
  const names = namesOf(graph);
  return Object.fromEntries(Object.entries(all).filter(([name]) => names.has(name)));
}

function expectClose(actual: Float32Array, expected: Float32Array): void {
  expect(actual).toHaveLength(expected.length);
  actual.forEach((value, at) => {
    expect(value).toBeCloseTo(expected[at] ?? Number.NaN, 5);
  });
}

const encoderOf = (type: string, fields: object = {}): Encoder =>
  readEncoder({ ...smallConfigs[type], model_type: type, ...fields }, 'config.json');

it('has a small config for every architecture, so that each is held to this', () => {
  expect(Object.keys(smallConfigs).sort()).toEqual(encoderTypes().sort());
});

describe.each(Object.keys(smallConfigs))('an encoder of type %s', (type) => {
  const encoder = encoderOf(type);
  const bare = encoder.parameters('');
  const states: Build = (graph, inputs) => encoder.states(graph, inputs, { prefix: '' });
  const rows = [4 * sequences.length, encoder.width];

  it('decays matrices and tables, but no biases and no factors of norms', () => {
    const all = [...bare, ...encoder.textHead.parameters(OUTPUTS), ...encoder.tokenHead.parameters(OUTPUTS)];
    const isVector = ({ shape }: ParameterSpec) => shape.length === 1;
    expect(all.filter((each) => each.decay === isVector(each)).map(({ name }) => name)).toEqual([]);
    expect(all.some(isVector)).toBe(true);
  });

  it('has gradients that agree with finite differences over all parameters', async () => {
    const loss = (graph: Graph): Tensor => {
      const pooled = pooledStates(graph, encoder, trainingInputs(graph), {
        prefix: '',
        pooling: 'mean',
        differentiable: true,
      });
      const weights = graph.constant([...someNumbers(encoder.width, 1, 5)], [encoder.width]);
      return graph.reduceSum(graph.tanh(graph.multiply(pooled, weights)), [0, 1]);
    };
    const probe = new Graph();
    loss(probe);
    const feeds = trainingFeeds(probe, encoder, sequences);
    const error = await gradientError({ parameters: someWeights(bare), feeds, loss }, 0.02, 5);
    expect(error).toBeLessThan(3e-3);
  });

  it.each(['textHead', 'tokenHead'] as const)(
    'has gradients of its %s that agree with finite differences',
    async (name) => {
      const head = encoder[name];
      const loss = (graph: Graph): Tensor => {
        const x = graph.constant([...someNumbers(4 * encoder.width, 1, 5)], [4, encoder.width]);
        return graph.reduceSum(graph.tanh(head.logits(graph, x, OUTPUTS)), [0, 1]);
      };
      // Small steps, as DistilBERT's head has a kink.
      const parameters = someWeights(head.parameters(OUTPUTS));
      const error = await gradientError({ parameters, loss }, 0.005);
      expect(error).toBeLessThan(3e-3);
    },
  );

  it('gives a text the same states alone as padded in a batch', async () => {
    const together = await run(encoder, bare, states, { form: 'training', dims: rows });
    const [, second] = sequences;
    const texts = second === undefined ? [] : [second];
    const alone = await run(encoder, bare, states, { form: 'training', texts, dims: [2, encoder.width] });
    const own = [1, 1 + sequences.length].map((row) =>
      together.subarray(row * encoder.width, (row + 1) * encoder.width),
    );
    expectClose(alone, Float32Array.of(...own.flatMap((row) => [...row])));
  });

  it('computes from the inputs of Hugging Face, as exported graphs have them, what it computes in training', async () => {
    const exported = await run(encoder, bare, states, { form: 'exported', dims: rows });
    const trained = await run(encoder, bare, states, { form: 'training', dims: rows });
    const lengths = sequences.map(({ ids }) => ids.length);
    const isRead = (_: number, at: number) => {
      const row = Math.floor(at / encoder.width);
      return Math.floor(row / sequences.length) < (lengths[row % sequences.length] ?? 0);
    };
    expectClose(exported.filter(isRead), trained.filter(isRead));
  });

  it('gives by the shortcut for the first token what it gives without', async () => {
    const dims = [sequences.length, encoder.width];
    const first: Build = (graph, inputs) => encoder.states(graph, inputs, { prefix: '', states: 'first' });
    const all = await run(encoder, bare, states, { form: 'exported', dims: rows });
    expectClose(
      await run(encoder, bare, first, { form: 'exported', dims }),
      all.subarray(0, sequences.length * encoder.width),
    );
  });

  it('reads token types where it tells several apart, and only there', async () => {
    const graph = new Graph();
    graph.output('states', states(graph, exportedInputs(graph)));
    const expected = ['attention_mask', 'input_ids', ...(encoder.tokenTypes > 1 ? ['token_type_ids'] : [])];
    expect([...namesOf(graph)].sort()).toEqual(expected);
  });

  it('applies the given dropout', () => {
    const dropped: number[] = [];
    const graph = new Graph();
    const dropout = (x: Tensor, probability: number) => {
      dropped.push(probability);
      return x;
    };
    encoder.states(graph, trainingInputs(graph), { prefix: '', dropout });
    expect(dropped.length).toBeGreaterThanOrEqual(encoder.layers);
  });

  it('writes a config.json that describes it', () => {
    const again = readEncoder({ ...encoder.config, architectures: [encoder.className] }, 'config.json');
    expect(again.config).toEqual(encoder.config);
    expect(again.parameters('')).toEqual(bare);
  });

  it('finds its weights under the names of a bare encoder and of one with a head, and those of inner layers', () => {
    const inner = encoder.textHead.inner;
    const stored = new Map(
      [...someWeights([...encoder.parameters(encoder.prefix), ...inner])].map(([name, { dims, values }]) => [
        name,
        { shape: dims, values },
      ]),
    );
    const headed = checkpointWeights(encoder, stored, MODEL);
    const { prefix } = encoder;
    const strip = (name: string) => (name.startsWith(prefix) ? name.slice(prefix.length) : name);
    const stripped = new Map([...stored].map(([name, tensor]) => [strip(name), tensor]));
    expect(checkpointWeights(encoder, stripped, MODEL)).toEqual(headed);
    const names = [...bare, ...inner].map(({ name }) => strip(name));
    expect([...headed.keys()]).toEqual(names);
  });

  it('has each parameter once, and says of those of its layers what they do', () => {
    const names = bare.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(bare.every(({ part }) => part === 'embeddings' || typeof part === 'number')).toBe(true);
    expect(bare.filter(({ role }) => role === 'words')).toHaveLength(1);
  });

  it('is refused as a decoder, and with an activation that is not known', async () => {
    const decoder = await failureOf('model_folder', () => encoderOf(type, { is_decoder: true }));
    expect(decoder.message).toBe('config.json: a decoder (is_decoder is true), not an encoder');
    const field = Object.keys(encoder.config).find((name) => /activation|_act$/u.test(name)) ?? '';
    const strange = await failureOf('model_folder', () => encoderOf(type, { [field]: 'swoosh' }));
    expect(strange.message).toContain(`${field}: `);
  });
});

/** Of the embeddings, then of each layer: attention weights, what attention gives, what the feed-forward block gives. */
it.each([
  ['bert', { hidden_dropout_prob: 0.3, attention_probs_dropout_prob: 0.4 }, [0.4, 0.3, 0.3], 2],
  ['mpnet', { hidden_dropout_prob: 0.3, attention_probs_dropout_prob: 0.4 }, [0.4, 0.3, 0.3], 2],
  ['albert', { hidden_dropout_prob: 0.3, attention_probs_dropout_prob: 0.4 }, [0.4, 0.3], 3],
  ['distilbert', { dropout: 0.3, attention_dropout: 0.4 }, [0.4, 0.3], 2],
])('an encoder of type %s has the dropout of transformers', (type, fields, inLayer, layers) => {
  const sites: number[] = [];
  const graph = new Graph();
  const dropout = (x: Tensor, probability: number) => {
    if (probability > 0) sites.push(probability);
    return x;
  };
  encoderOf(type, fields).states(graph, trainingInputs(graph), { prefix: '', dropout });
  expect(sites).toEqual([0.3, ...Array.from({ length: layers }, () => inLayer).flat()]);
});

describe('an encoder that can not be run here', () => {
  it.each([
    ['distilbert', { sinusoidal_pos_embds: true }, 'sinusoidal_pos_embds: '],
    ['mpnet', { relative_attention_num_buckets: 64 }, 'relative_attention_num_buckets: '],
    ['mpnet', { pad_token_id: 0 }, 'pad_token_id: '],
    ['bert', { position_embedding_type: 'relative_key' }, 'position_embedding_type: '],
    ['electra', { hidden_size: 9 }, 'hidden_size 9 is not a multiple of num_attention_heads 2'],
    ['distilbert', { n_heads: 3 }, 'dim 8 is not a multiple of n_heads 3'],
    ['deberta-v2', { conv_kernel_size: 3 }, 'conv_kernel_size: '],
    ['deberta-v2', { pos_att_type: 'c2p|p2p' }, 'pos_att_type.1: '],
    ['deberta-v2', { attention_head_size: 8 }, 'attention_head_size 8 times num_attention_heads 2'],
    ['modernbert', { rope_parameters: { full_attention: { rope_type: 'yarn', rope_theta: 1e4 } } }, 'rope_type: '],
    ['modernbert', { layer_types: ['full_attention'] }, 'layer_types has 1 entries'],
    ['modernbert', { num_attention_heads: 8 }, 'hidden_size'],
    ['roberta', { max_position_embeddings: 2 }, 'max_position_embeddings 2 leave no position'],
  ])('%s with %j is refused by the name of the field', async (type, fields, reason) => {
    const error = await failureOf('model_folder', () => encoderOf(type, fields));
    expect(error.message).toContain(reason);
  });
});
