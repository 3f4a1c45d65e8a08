import { describe, expect, it } from 'vitest';
import { checkpointWeights, parseCheckpointConfig } from '../../src/encoder/index.js';
import type { NamedTensor } from '../../src/safetensors/index.js';
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
  const parsed = parseCheckpointConfig(config, 'config.json');
  const weights = checkpointWeights(parsed, tensors, 'model.safetensors');
  return {
    encoder: parsed.encoder,
    weights: new Map([...weights].map(([name, values]) => [name, [...values]])),
  };
}

const refusalOf = (tensors: Tensors, config?: unknown) =>
  failureOf('model_folder', () => load(tensors, config));

const expected = new Map([...bertTensors].map(([name, { values }]) => [name, [...values]]));
const withoutPooler = new Map([...expected].filter(([name]) => !isPooler(name)));

describe('a BERT checkpoint', () => {
  it.each<[string, Tensors]>([
    ['as BertModel saves it', bertTensors],
    ['as models with a head save it', renamed((name) => `bert.${name}`)],
    [
      'as converted from TensorFlow',
      renamed((name) =>
        `bert.${name}`
          .replace(/LayerNorm\.weight$/, 'LayerNorm.gamma')
          .replace(/LayerNorm\.bias$/, 'LayerNorm.beta'),
      ),
    ],
    [
      'with a head beside',
      new Map([...bertTensors, ['classifier.bias', { shape: [1], values: new Float32Array(1) }]]),
    ],
  ])('is read %s', (_, tensors) => {
    const { encoder, weights } = load(tensors);
    expect(weights).toEqual(expected);
    expect(encoder).toMatchObject({ hidden_size: 8, num_hidden_layers: 2, max_position_embeddings: 12 });
  });

  it('needs no pooler', () => {
    const tensors = renamed((name) => (isPooler(name) ? undefined : name));
    expect(load(tensors).weights).toEqual(withoutPooler);
  });

  it('is refused with the name of the tensor that it lacks', async () => {
    const name = 'encoder.layer.1.output.dense.weight';
    const error = await refusalOf(renamed((each) => (each === name ? undefined : each)));
    expect(error.message).toBe(
      `model.safetensors: has no tensor bert.${name} or ${name}, which config.json asks for`,
    );
  });

  it('is refused with the shape that does not fit its config.json', async () => {
    const error = await refusalOf(bertTensors, { ...bertConfig, intermediate_size: 32 });
    expect(error.message).toBe(
      'model.safetensors: tensor encoder.layer.0.intermediate.dense.weight is [16, 8], config.json asks for [32, 8]',
    );
  });
});

describe('a RoBERTa checkpoint', () => {
  const roberta = {
    ...bertConfig,
    pad_token_id: 1,
    max_position_embeddings: bertConfig.max_position_embeddings + 2,
    type_vocab_size: 1,
  };
  /** With the two rows in front that belong to the padding token and to no token. */
  const tensors = new Map(
    [...bertTensors].map(([name, { shape, values }]) => {
      if (name.includes('position_embeddings')) {
        return [
          `roberta.${name}`,
          { shape: [14, 8], values: Float32Array.of(...Array(16).fill(9), ...values) },
        ];
      }
      if (name.includes('token_type'))
        return [`roberta.${name}`, { shape: [1, 8], values: values.slice(0, 8) }];
      return [`roberta.${name}`, { shape, values }];
    }),
  );

  it.each(['roberta', 'xlm-roberta', 'camembert'])(
    'of type %s is read without its unused positions',
    (type) => {
      const { encoder, weights } = load(tensors, { ...roberta, model_type: type });
      expect(encoder).toMatchObject({ model_type: 'bert', max_position_embeddings: 12, type_vocab_size: 1 });
      const position = 'embeddings.position_embeddings.weight';
      expect(weights.get(position)).toEqual(expected.get(position));
      const query = 'encoder.layer.0.attention.self.query.weight';
      expect(weights.get(query)).toEqual(expected.get(query));
    },
  );
});

describe('an ELECTRA checkpoint', () => {
  const electra = { ...bertConfig, model_type: 'electra', embedding_size: 8 };

  it('is read if its embeddings are as wide as its layers', () => {
    const tensors = renamed((name) => (isPooler(name) ? undefined : `electra.${name}`));
    expect(load(tensors, electra).weights).toEqual(withoutPooler);
  });

  it('is refused if they are narrower', async () => {
    const error = await refusalOf(bertTensors, { ...electra, embedding_size: 4 });
    expect(error.message).toContain('embeddings of 4 numbers are projected to 8');
  });
});

describe('a DistilBERT checkpoint', () => {
  const distilbert = {
    model_type: 'distilbert',
    vocab_size: bertConfig.vocab_size,
    dim: 8,
    n_layers: 2,
    n_heads: 2,
    hidden_dim: 16,
    activation: 'gelu',
    dropout: 0.2,
    attention_dropout: 0.3,
    max_position_embeddings: 12,
    sinusoidal_pos_embds: false,
  };
  /** As `DistilBertModel(config).state_dict()` calls them, layer by layer. */
  const layerNames = {
    'attention.self.query': 'attention.q_lin',
    'attention.self.key': 'attention.k_lin',
    'attention.self.value': 'attention.v_lin',
    'attention.output.dense': 'attention.out_lin',
    'attention.output.LayerNorm': 'sa_layer_norm',
    'intermediate.dense': 'ffn.lin1',
    'output.dense': 'ffn.lin2',
    'output.LayerNorm': 'output_layer_norm',
  };
  const tensors = renamed((name) => {
    const [, layer, part = '', kind] = /^encoder\.layer\.(\d)\.(.+)\.(weight|bias)$/.exec(name) ?? [];
    if (isPooler(name) || name.includes('token_type')) return undefined;
    if (layer === undefined) return `distilbert.${name}`;
    const theirs = Object.entries(layerNames).find(([ours]) => ours === part)?.[1];
    return `distilbert.transformer.layer.${layer}.${theirs}.${kind}`;
  });

  it('is read with token types that add nothing', () => {
    const { encoder, weights } = load(tensors, distilbert);
    const types = 'embeddings.token_type_embeddings.weight';
    expect(weights).toEqual(new Map([...withoutPooler, [types, Array(16).fill(0)]]));
    expect(encoder).toMatchObject({
      model_type: 'bert',
      hidden_size: 8,
      num_hidden_layers: 2,
      hidden_dropout_prob: 0.2,
      attention_probs_dropout_prob: 0.3,
    });
  });

  it('is refused if its position embeddings are sinusoidal', async () => {
    const config = { ...distilbert, sinusoidal_pos_embds: true };
    expect((await refusalOf(tensors, config)).message).toContain('sinusoidal_pos_embds');
  });
});

describe('another encoder', () => {
  it.each([
    [{ model_type: 'albert' }, 'model_type "albert" can\'t be run here; use one of bert, roberta'],
    [{ model_type: undefined }, 'model_type undefined'],
    [{ hidden_act: 'gelu_new' }, 'hidden_act'],
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
