import { describe, expect, it } from 'vitest';
import { checkpointWeights, readEncoder } from '../../src/encoder/index.js';
import type { NamedTensor } from '../../src/models/index.js';
import { bertConfig, bertTensors } from '../support/checkpoint-builder.js';
import { failureOf } from '../support/outcomes.js';

type Tensors = ReadonlyMap<string, NamedTensor>;

const renamed = (rename: (name: string) => string | undefined, tensors: Tensors = bertTensors): Tensors =>
  new Map(
    [...tensors].flatMap(([name, tensor]) => {
      const other = rename(name);
      return other === undefined ? [] : [[other, tensor]];
    }),
  );

const isPooler = (name: string): boolean => name.startsWith('pooler.');

function load(tensors: Tensors, config: unknown = bertConfig) {
  const encoder = readEncoder(config, 'config.json');
  const weights = checkpointWeights(encoder, tensors, 'model.safetensors');
  return {
    encoder,
    weights: new Map([...weights].map(([name, values]) => [name, [...values]])),
  };
}

const refusalOf = (tensors: Tensors, config?: unknown) => failureOf('model_folder', () => load(tensors, config));

const expected = new Map([...bertTensors].map(([name, { values }]) => [name, [...values]]));
const withoutPooler = new Map([...expected].filter(([name]) => !isPooler(name)));

describe('a BERT checkpoint', () => {
  it.each<[string, Tensors]>([
    ['as BertModel saves it', bertTensors],
    ['as models with a head save it', renamed((name) => `bert.${name}`)],
    [
      'as converted from TensorFlow',
      renamed((name) =>
        `bert.${name}`.replace(/LayerNorm\.weight$/, 'LayerNorm.gamma').replace(/LayerNorm\.bias$/, 'LayerNorm.beta'),
      ),
    ],
    ['with a head', new Map([...bertTensors, ['classifier.bias', { shape: [1], values: new Float32Array(1) }]])],
  ])('is read %s', (_, tensors) => {
    const { encoder, weights } = load(tensors);
    expect(weights).toEqual(expected);
    expect(encoder).toMatchObject({ width: 8, layers: 2, maxTokens: 12 });
  });

  it('needs no pooler', () => {
    const tensors = renamed((name) => (isPooler(name) ? undefined : name));
    expect(load(tensors).weights).toEqual(withoutPooler);
  });

  it('is refused with the name of the tensor that it lacks', async () => {
    const name = 'encoder.layer.1.output.dense.weight';
    const error = await refusalOf(renamed((each) => (each === name ? undefined : each)));
    expect(error.message).toBe(`model.safetensors: has no tensor bert.${name} or ${name}, which config.json asks for`);
  });

  it('is refused with the shape that does not fit its config.json', async () => {
    const error = await refusalOf(bertTensors, { ...bertConfig, intermediate_size: 32 });
    expect(error.message).toBe(
      'model.safetensors: tensor encoder.layer.0.intermediate.dense.weight is [16, 8], config.json asks for [32, 8]',
    );
  });
});

/** As `model.state_dict()` of transformers calls the weights of each type, layer by layer; others are BERT's. */
const ownNames: readonly (readonly [type: string, fields: object, names: Readonly<Record<string, string>>])[] = [
  ['roberta', {}, {}],
  ['electra', {}, {}],
  [
    'distilbert',
    { dim: 8, n_layers: 2, n_heads: 2, hidden_dim: 16, activation: 'gelu' },
    {
      'encoder.layer': 'transformer.layer',
      'attention.self.query': 'attention.q_lin',
      'attention.self.key': 'attention.k_lin',
      'attention.self.value': 'attention.v_lin',
      'attention.output.dense': 'attention.out_lin',
      'attention.output.LayerNorm': 'sa_layer_norm',
      'intermediate.dense': 'ffn.lin1',
      '.output.dense': '.ffn.lin2',
      '.output.LayerNorm': '.output_layer_norm',
    },
  ],
  [
    'mpnet',
    { pad_token_id: 1 },
    {
      'attention.self.query': 'attention.attn.q',
      'attention.self.key': 'attention.attn.k',
      'attention.self.value': 'attention.attn.v',
      'attention.output.dense': 'attention.attn.o',
      'attention.output.LayerNorm': 'attention.LayerNorm',
    },
  ],
];

describe.each(ownNames)('a checkpoint of type %s', (type, fields, names) => {
  const extra: Tensors = new Map(
    type === 'mpnet'
      ? [['encoder.relative_attention_bias.weight', { shape: [32, 2], values: new Float32Array(64).fill(3) }]]
      : [],
  );
  const theirs = (name: string): string =>
    Object.entries(names).reduce((renamed, [ours, own]) => renamed.replace(ours, own), name);
  const readsTypes = type === 'roberta' || type === 'electra';
  const tensors = new Map([
    ...renamed((name) => {
      if (isPooler(name) || (name.includes('token_type') && !readsTypes)) return undefined;
      return theirs(name);
    }),
    ...extra,
  ]);

  it('is read under the names that transformers gives its weights, and no other', async () => {
    const { encoder, weights } = load(tensors, {
      ...bertConfig,
      ...fields,
      embedding_size: 8,
      model_type: type,
    });
    expect(encoder.modelType).toBe(type);
    expect([...weights.keys()].sort()).toEqual([...tensors.keys()].sort());
    for (const [name, { values }] of tensors) expect(weights.get(name)).toEqual([...values]);
  });
});

describe('another encoder', () => {
  it.each([
    [{ model_type: 'gpt2' }, 'model_type "gpt2" can\'t be run here; use one of bert, roberta'],
    [{ model_type: undefined }, 'model_type undefined'],
    [{ hidden_act: 'silu' }, 'hidden_act'],
    [{ position_embedding_type: 'relative_key' }, 'position_embedding_type'],
    [{ is_decoder: true }, 'a decoder'],
    [{ num_hidden_layers: 1e9 }, 'num_hidden_layers: Too big'],
    [{ hidden_size: 2 ** 31 }, 'hidden_size: Too big'],
    [{ vocab_size: 1e12 }, 'vocab_size: Too big'],
    [{ max_position_embeddings: 1e12 }, 'max_position_embeddings: Too big'],
    [{ num_attention_heads: 3 }, 'hidden_size 8 is not a multiple of num_attention_heads 3'],
  ])('with %j is refused with the reason', async (fields, reason) => {
    const error = await refusalOf(bertTensors, { ...bertConfig, ...fields });
    expect(error).toMatchObject({ file: 'config.json', reason: expect.stringContaining(reason) });
  });
});
