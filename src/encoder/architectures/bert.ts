import * as z from 'zod';
import type { Tensor } from '../../graph/index.js';
import { architecture } from '../architecture.js';
import type { EncoderTraits } from '../encoder.js';
import type { EncoderBuilder } from '../encoder-builder.js';
import type { EncoderInputs } from '../encoder-inputs.js';
import type { ParameterSpec } from '../parameter.js';
import {
  bertLayerNames,
  embed,
  embeddingParameters,
  field,
  innerHead,
  plainHead,
  reasonAgainstHeads,
  type Stack,
  stack,
  stackParameters,
} from '../parts.js';

/** What BERT's config.json has, and most others took over: as zod fields, and as the parts that they describe. */

/** Fields of {@link BertLike}, in the order in which they are written. */
export const bertFields = {
  vocab_size: field.vocabulary,
  hidden_size: field.width,
  num_hidden_layers: field.layers,
  num_attention_heads: field.heads,
  intermediate_size: field.innerWidth,
  hidden_act: field.activation.default('gelu'),
  hidden_dropout_prob: field.probability.default(0.1),
  attention_probs_dropout_prob: field.probability.default(0.1),
  /** Absent or null: that of the hidden states. */
  classifier_dropout: field.probability.nullable().exactOptional(),
  max_position_embeddings: field.positions.default(512),
  initializer_range: field.deviation.default(0.02),
  layer_norm_eps: field.epsilon.default(1e-12),
  pad_token_id: field.tokenId.default(0),
  position_embedding_type: z.literal('absolute').default('absolute'),
};

type BertLike = z.infer<z.ZodObject<typeof bertFields>>;

/** Dropout of a head: its own, or else that of the hidden states. */
export const headDropoutOf = ({
  classifier_dropout,
  hidden_dropout_prob,
}: Pick<BertLike, 'classifier_dropout' | 'hidden_dropout_prob'>): number => classifier_dropout ?? hidden_dropout_prob;

export const reasonAgainstBertHeads = ({
  hidden_size,
  num_attention_heads,
}: Pick<BertLike, 'hidden_size' | 'num_attention_heads'>): string | undefined =>
  reasonAgainstHeads('hidden_size', hidden_size, 'num_attention_heads', num_attention_heads);

/** The fields that nearly all architectures have under these names. */
type Geometry = Pick<
  BertLike,
  | 'vocab_size'
  | 'hidden_size'
  | 'num_hidden_layers'
  | 'num_attention_heads'
  | 'intermediate_size'
  | 'max_position_embeddings'
  | 'pad_token_id'
  | 'initializer_range'
>;

/** Those of an encoder without token types whose positions count from 0. @param headDropout of its heads. */
export function traitsOf(config: Geometry, headDropout: number): EncoderTraits {
  return {
    vocabularySize: config.vocab_size,
    width: config.hidden_size,
    layers: config.num_hidden_layers,
    heads: config.num_attention_heads,
    innerWidth: config.intermediate_size,
    maxTokens: config.max_position_embeddings,
    tokenTypes: 0,
    padId: config.pad_token_id,
    firstPosition: 0,
    initializerRange: config.initializer_range,
    headDropout,
  };
}

export const bertTraits = (config: BertLike): EncoderTraits => traitsOf(config, headDropoutOf(config));

/** Widths of its layers. */
export const bertWidths = (config: BertLike) => ({
  width: config.hidden_size,
  innerWidth: config.intermediate_size,
  deviation: config.initializer_range,
});

/** With or without token types. */
type WithTables = BertLike & { readonly type_vocab_size?: number };

/** The tables of words, positions and perhaps token types. @param width of their rows. */
export function bertTables(config: WithTables, width: number = config.hidden_size): ParameterSpec[] {
  const { type_vocab_size: types } = config;
  return embeddingParameters({
    vocabulary: config.vocab_size,
    positions: config.max_position_embeddings,
    ...(types !== undefined && { types }),
    width,
    deviation: config.initializer_range,
  });
}

/** The normalised sum of each token's rows in {@link bertTables}. @returns [tokens*batch, width]. */
export function bertEmbeddings(
  builder: EncoderBuilder,
  config: WithTables,
  inputs: EncoderInputs,
  firstPosition = 0,
): Tensor {
  return embed(builder, inputs, {
    types: config.type_vocab_size !== undefined,
    epsilon: config.layer_norm_eps,
    dropout: config.hidden_dropout_prob,
    firstPosition,
  });
}

const layersOf = ({ num_hidden_layers }: BertLike): Stack => ({
  layers: num_hidden_layers,
  stem: 'encoder.layer',
  names: bertLayerNames,
});

/** The parameters of {@link bertLayers}. */
export const bertLayerParameters = (config: BertLike): ParameterSpec[] =>
  stackParameters(layersOf(config), bertWidths(config));

/** BERT's layers under BERT's names. Shapes: hidden [tokens*batch, width] → the same, or [batch, width] for `first`. */
export function bertLayers(
  builder: EncoderBuilder,
  config: BertLike,
  inputs: EncoderInputs,
  hidden: Tensor,
  states: 'all' | 'first',
): Tensor {
  const options = { ...bertLayerOptions(config), biases: [inputs.attentionBias], states };
  return stack(builder, hidden, layersOf(config), options);
}

/** What its layers compute, apart from the biases of the scores. */
export const bertLayerOptions = (config: BertLike) => ({
  heads: config.num_attention_heads,
  width: config.hidden_size,
  attentionDropout: config.attention_probs_dropout_prob,
  hiddenDropout: config.hidden_dropout_prob,
  activation: config.hidden_act,
  epsilon: config.layer_norm_eps,
});

/** A head's inner layer. */
export const bertInnerLayer = (config: BertLike) => ({
  width: config.hidden_size,
  deviation: config.initializer_range,
  dropout: headDropoutOf(config),
});

const schema = z.object({
  model_type: z.literal('bert'),
  ...bertFields,
  type_vocab_size: field.types.default(2),
});
type Config = z.infer<typeof schema>;

/** BERT (Devlin et al. 2019): LayerNorm after each block, token types, GELU by the error function, a pooler. */
export const bert = architecture<Config>({
  name: 'BERT',
  classes: { bert: 'Bert' },
  prefix: 'bert.',
  schema,
  reasonAgainst: reasonAgainstBertHeads,
  traits: (config) => ({ ...bertTraits(config), tokenTypes: config.type_vocab_size }),
  parameters: (config) => [...bertTables(config), ...bertLayerParameters(config)],
  states(builder, config, inputs, states) {
    return bertLayers(builder, config, inputs, bertEmbeddings(builder, config, inputs), states);
  },
  // The pooler belongs to BertModel, so its name has the prefix.
  textHead: innerHead(
    { inner: 'bert.pooler.dense', classifier: 'classifier', activation: 'tanh', dropsInput: false },
    bertInnerLayer,
  ),
  tokenHead: plainHead(headDropoutOf),
});
