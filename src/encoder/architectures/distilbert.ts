import * as z from 'zod';
import { architecture } from '../architecture.js';
import {
  embed,
  embeddingParameters,
  field,
  innerHead,
  type LayerNames,
  plainHead,
  reasonAgainstHeads,
  type Stack,
  stack,
  stackParameters,
} from '../parts.js';

const schema = z.object({
  model_type: z.literal('distilbert'),
  vocab_size: field.vocabulary,
  dim: field.width,
  n_layers: field.layers,
  n_heads: field.heads,
  hidden_dim: field.innerWidth,
  activation: field.activation.default('gelu'),
  dropout: field.probability.default(0.1),
  attention_dropout: field.probability.default(0.1),
  seq_classif_dropout: field.probability.default(0.2),
  max_position_embeddings: field.positions.default(512),
  sinusoidal_pos_embds: z.literal(false).default(false),
  initializer_range: field.deviation.default(0.02),
  pad_token_id: field.tokenId.default(0),
});
type Config = z.infer<typeof schema>;

/** Of every LayerNorm; config.json has no field for it. */
const EPSILON = 1e-12;

const names: LayerNames = {
  query: 'attention.q_lin',
  key: 'attention.k_lin',
  value: 'attention.v_lin',
  attentionOutput: 'attention.out_lin',
  attentionNorm: 'sa_layer_norm',
  inner: 'ffn.lin1',
  outer: 'ffn.lin2',
  outputNorm: 'output_layer_norm',
};

const stackOf = ({ n_layers }: Config): Stack => ({ layers: n_layers, stem: 'transformer.layer', names });

/** DistilBERT (Sanh et al. 2019): BERT's layers without token types, pooler and dropout after attention. */
export const distilbert = architecture<Config>({
  name: 'DistilBERT',
  classes: { distilbert: 'DistilBert' },
  prefix: 'distilbert.',
  schema,
  reasonAgainst: ({ dim, n_heads }) => reasonAgainstHeads('dim', dim, 'n_heads', n_heads),
  traits: (config) => ({
    vocabularySize: config.vocab_size,
    width: config.dim,
    layers: config.n_layers,
    heads: config.n_heads,
    innerWidth: config.hidden_dim,
    maxTokens: config.max_position_embeddings,
    tokenTypes: 0,
    padId: config.pad_token_id,
    firstPosition: 0,
    initializerRange: config.initializer_range,
    headDropout: config.seq_classif_dropout,
  }),
  parameters(config) {
    const { vocab_size: vocabulary, max_position_embeddings: positions, dim: width, hidden_dim: innerWidth } = config;
    const { initializer_range: deviation } = config;
    return [
      ...embeddingParameters({ vocabulary, positions, width, deviation }),
      ...stackParameters(stackOf(config), { width, innerWidth, deviation }),
    ];
  },
  states(builder, config, inputs, states) {
    const embedded = embed(builder, inputs, {
      types: false,
      epsilon: EPSILON,
      dropout: config.dropout,
      firstPosition: 0,
    });
    return stack(builder, embedded, stackOf(config), {
      heads: config.n_heads,
      width: config.dim,
      biases: () => [inputs.attentionBias],
      attentionDropout: config.attention_dropout,
      hiddenDropout: 0,
      outputDropout: config.dropout,
      activation: config.activation,
      epsilon: EPSILON,
      states,
    });
  },
  textHead: innerHead(
    { inner: 'pre_classifier', classifier: 'classifier', activation: 'relu', dropsInput: false },
    (config) => ({
      width: config.dim,
      deviation: config.initializer_range,
      dropout: config.seq_classif_dropout,
    }),
  ),
  tokenHead: plainHead(({ dropout }) => dropout),
});
