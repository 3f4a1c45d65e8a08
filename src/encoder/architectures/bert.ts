import * as z from 'zod';
import type { Tensor } from '../../graph/index.js';
import { type Architecture, type ArchitectureDefinition, architecture } from '../architecture.js';
import type { EncoderTraits } from '../encoder.js';
import type { EncoderBuilder, EncoderInputs } from '../encoder-builder.js';
import { inPart, linearParameters, type ParameterSpec } from '../parameter.js';
import {
  bertLayerNames,
  embed,
  embeddingParameters,
  field,
  type InnerHead,
  innerHead,
  plainHead,
  reasonAgainstHeads,
  robertaHead,
  type Stack,
  stack,
  stackParameters,
} from '../parts.js';

/** The fields of BERT's config.json in the order in which they are written. */
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

type BertLike = z.infer<z.ZodObject<typeof bertFields>> & {
  readonly model_type: string;
  readonly type_vocab_size?: number;
};

export const reasonAgainstBertHeads = ({
  hidden_size,
  num_attention_heads,
}: Pick<BertLike, 'hidden_size' | 'num_attention_heads'>): string | undefined =>
  reasonAgainstHeads('hidden_size', hidden_size, 'num_attention_heads', num_attention_heads);

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

/** For an encoder without token types whose positions count from 0. */
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

export const bertWidths = (config: BertLike) => ({
  width: config.hidden_size,
  innerWidth: config.intermediate_size,
  deviation: config.initializer_range,
});

export const bertLayerOptions = (config: BertLike) => ({
  heads: config.num_attention_heads,
  width: config.hidden_size,
  attentionDropout: config.attention_probs_dropout_prob,
  hiddenDropout: config.hidden_dropout_prob,
  activation: config.hidden_act,
  epsilon: config.layer_norm_eps,
});

interface Layers<Config> {
  parameters(config: Config): readonly ParameterSpec[];
  /** Shapes: hidden [tokens*batch, width] → the same, or [batch, width] for `first`. */
  states(
    builder: EncoderBuilder,
    config: Config,
    inputs: EncoderInputs,
    hidden: Tensor,
    states: 'all' | 'first',
  ): Tensor;
}

const stackOf = ({ num_hidden_layers }: BertLike): Stack => ({
  layers: num_hidden_layers,
  stem: 'encoder.layer',
  names: bertLayerNames,
});

const bertLayers: Layers<BertLike> = {
  parameters: (config) => stackParameters(stackOf(config), bertWidths(config)),
  states: (builder, config, inputs, hidden, states) =>
    stack(builder, hidden, stackOf(config), {
      ...bertLayerOptions(config),
      biases: () => [inputs.attentionBias],
      states,
    }),
};

interface BertVariant<Config extends BertLike>
  extends Pick<ArchitectureDefinition<Config>, 'name' | 'classes' | 'prefix' | 'schema'> {
  /** Position of the first token, after those that belong to padding. Default 0. */
  firstPosition?(config: Config): number;
  /** A layer from embeddings of another width to hidden states. Default: none. */
  projection?(config: Config): { readonly name: string; readonly inputs: number } | undefined;
  /** Default: BERT's, under BERT's names. */
  readonly layers?: Layers<Config>;
  layerCount?(config: Config): number;
  readonly textHead: InnerHead;
  /** Default: `classifier_dropout`, or else that of the hidden states. */
  headDropout?(config: Config): number;
}

/** An encoder with BERT's embeddings and fields, and a linear layer per token as token head. */
export function bertLike<Config extends BertLike>({
  firstPosition = () => 0,
  projection = () => undefined,
  layers = bertLayers,
  layerCount = ({ num_hidden_layers }) => num_hidden_layers,
  textHead,
  headDropout = ({ classifier_dropout, hidden_dropout_prob }) => classifier_dropout ?? hidden_dropout_prob,
  ...definition
}: BertVariant<Config>): Architecture {
  return architecture<Config>({
    ...definition,
    reasonAgainst(config) {
      const { max_position_embeddings: positions } = config;
      const first = firstPosition(config);
      if (positions > first) return reasonAgainstBertHeads(config);
      return `max_position_embeddings ${positions} leave no position for a token, as they count from pad_token_id + 1 = ${first}`;
    },
    traits: (config) => ({
      ...traitsOf(config, headDropout(config)),
      layers: layerCount(config),
      maxTokens: config.max_position_embeddings - firstPosition(config),
      tokenTypes: config.type_vocab_size ?? 0,
      firstPosition: firstPosition(config),
    }),
    parameters(config) {
      const { hidden_size: width, initializer_range: deviation, type_vocab_size: types } = config;
      const projected = projection(config);
      return [
        ...embeddingParameters({
          vocabulary: config.vocab_size,
          positions: config.max_position_embeddings,
          ...(types !== undefined && { types }),
          width: projected?.inputs ?? width,
          deviation,
        }),
        ...(projected === undefined
          ? []
          : inPart('embeddings', linearParameters(projected.name, projected.inputs, width, deviation))),
        ...layers.parameters(config),
      ];
    },
    states(builder, config, inputs, states) {
      const embedded = embed(builder, inputs, {
        types: config.type_vocab_size !== undefined,
        epsilon: config.layer_norm_eps,
        dropout: config.hidden_dropout_prob,
        firstPosition: firstPosition(config),
      });
      const projected = projection(config);
      const hidden = projected === undefined ? embedded : builder.linear(embedded, projected.name);
      return layers.states(builder, config, inputs, hidden, states);
    },
    textHead: innerHead(textHead, (config) => ({
      width: config.hidden_size,
      deviation: config.initializer_range,
      dropout: headDropout(config),
    })),
    tokenHead: plainHead(headDropout),
  });
}

/** BERT (Devlin et al. 2019): LayerNorm after each block, token types, GELU by the error function, a pooler. */
export const bert = bertLike({
  name: 'BERT',
  classes: { bert: 'Bert' },
  prefix: 'bert.',
  schema: z.object({ model_type: z.literal('bert'), ...bertFields, type_vocab_size: field.types.default(2) }),
  // The pooler belongs to BertModel, so its name has the prefix.
  textHead: { inner: 'bert.pooler.dense', classifier: 'classifier', activation: 'tanh', dropsInput: false },
});

/** RoBERTa (Liu et al. 2019), XLM-R (Conneau et al. 2020), CamemBERT (Martin et al. 2020). */
export const roberta = bertLike({
  name: 'RoBERTa',
  classes: { roberta: 'Roberta', 'xlm-roberta': 'XLMRoberta', camembert: 'Camembert' },
  prefix: 'roberta.',
  schema: z.object({
    model_type: z.enum(['roberta', 'xlm-roberta', 'camembert']),
    ...bertFields,
    pad_token_id: field.tokenId.default(1),
    type_vocab_size: field.types.default(2),
  }),
  // The rows before belong to padding and to no token.
  firstPosition: ({ pad_token_id }) => pad_token_id + 1,
  textHead: robertaHead,
});

/** The discriminator of ELECTRA (Clark et al. 2020); the small one projects its embeddings to a greater width. */
export const electra = bertLike({
  name: 'ELECTRA',
  classes: { electra: 'Electra' },
  prefix: 'electra.',
  schema: z.object({
    model_type: z.literal('electra'),
    ...bertFields,
    embedding_size: field.width.default(128),
    type_vocab_size: field.types.default(2),
  }),
  projection: ({ embedding_size: inputs, hidden_size }) =>
    inputs === hidden_size ? undefined : { name: 'embeddings_project', inputs },
  // RoBERTa's head with another activation, as the authors have it.
  textHead: { ...robertaHead, activation: 'gelu' },
});
