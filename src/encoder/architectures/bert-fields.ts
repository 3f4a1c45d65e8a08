/** What BERT's config.json has, and most others took over, as zod fields and as what they mean. */
import * as z from 'zod';
import type { EncoderTraits } from '../encoder.js';
import {
  activationField,
  deviationField,
  epsilonField,
  headDropoutField,
  headsField,
  innerWidthField,
  layersField,
  positionsField,
  probabilityField,
  reasonAgainstHeads,
  tokenIdField,
  vocabularyField,
  widthField,
} from '../parts/index.js';

/** Fields of {@link BertLike}, in the order in which they are written. */
export const bertFields = {
  vocab_size: vocabularyField,
  hidden_size: widthField,
  num_hidden_layers: layersField,
  num_attention_heads: headsField,
  intermediate_size: innerWidthField,
  hidden_act: activationField.default('gelu'),
  hidden_dropout_prob: probabilityField.default(0.1),
  attention_probs_dropout_prob: probabilityField.default(0.1),
  classifier_dropout: headDropoutField,
  max_position_embeddings: positionsField.default(512),
  initializer_range: deviationField.default(0.02),
  layer_norm_eps: epsilonField.default(1e-12),
  pad_token_id: tokenIdField.default(0),
  position_embedding_type: z.literal('absolute').default('absolute'),
};

export type BertLike = z.infer<z.ZodObject<typeof bertFields>>;

/** Dropout of a head: its own, or else that of the hidden states. */
export const headDropoutOf = ({
  classifier_dropout,
  hidden_dropout_prob,
}: Pick<BertLike, 'classifier_dropout' | 'hidden_dropout_prob'>): number =>
  classifier_dropout ?? hidden_dropout_prob;

export const reasonAgainstBertHeads = ({
  hidden_size,
  num_attention_heads,
}: Pick<BertLike, 'hidden_size' | 'num_attention_heads'>): string | undefined =>
  reasonAgainstHeads('hidden_size', hidden_size, 'num_attention_heads', num_attention_heads);

/** Those of an encoder without token types whose positions count from 0. */
export function bertTraits(config: BertLike): EncoderTraits {
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
    headDropout: headDropoutOf(config),
  };
}

/** Widths of its layers. */
export const bertWidths = (config: BertLike) => ({
  width: config.hidden_size,
  innerWidth: config.intermediate_size,
  deviation: config.initializer_range,
});

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
