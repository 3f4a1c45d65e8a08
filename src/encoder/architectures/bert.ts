import * as z from 'zod';
import { architecture, modelTypeField } from '../architecture.js';
import { inPart } from '../parameter.js';
import {
  activationField,
  bertLayerNames,
  deviationField,
  embed,
  embeddingParameters,
  epsilonField,
  headDropoutField,
  headsField,
  innerWidthField,
  layersField,
  plainHead,
  poolerHead,
  positionsField,
  postNormLayer,
  postNormLayerParameters,
  probabilityField,
  reasonAgainstHeads,
  tokenIdField,
  typesField,
  vocabularyField,
  widthField,
} from '../parts/index.js';

const schema = z.object({
  model_type: modelTypeField('bert'),
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
  type_vocab_size: typesField.default(2),
  initializer_range: deviationField.default(0.02),
  layer_norm_eps: epsilonField.default(1e-12),
  pad_token_id: tokenIdField.default(0),
  position_embedding_type: z.literal('absolute').default('absolute'),
});
type BertConfig = z.infer<typeof schema>;

const headDropout = (config: BertConfig): number => config.classifier_dropout ?? config.hidden_dropout_prob;

/**
 * BERT's encoder (Devlin et al. 2019) exactly as Hugging Face's BertModel computes it: LayerNorm after each block, token
 * types, GELU by the error function.
 */
export const bert = architecture<BertConfig>({
  name: 'BERT',
  classes: { bert: 'Bert' },
  prefix: 'bert.',
  schema,
  reasonAgainst: ({ hidden_size, num_attention_heads }) =>
    reasonAgainstHeads('hidden_size', hidden_size, 'num_attention_heads', num_attention_heads),
  traits: (config) => ({
    vocabularySize: config.vocab_size,
    width: config.hidden_size,
    layers: config.num_hidden_layers,
    heads: config.num_attention_heads,
    innerWidth: config.intermediate_size,
    maxTokens: config.max_position_embeddings,
    padId: config.pad_token_id,
    firstPosition: 0,
    initializerRange: config.initializer_range,
    headDropout: headDropout(config),
  }),
  parameters: (config) => [
    ...embeddingParameters(
      {
        vocabulary: config.vocab_size,
        positions: config.max_position_embeddings,
        types: config.type_vocab_size,
        width: config.hidden_size,
      },
      config.initializer_range,
    ),
    ...layerNames(config).flatMap((name, layer) =>
      inPart(
        layer,
        postNormLayerParameters(name, bertLayerNames, {
          width: config.hidden_size,
          innerWidth: config.intermediate_size,
          deviation: config.initializer_range,
        }),
      ),
    ),
  ],
  states(builder, config, inputs, states) {
    const embedded = embed(builder, inputs, {
      types: true,
      epsilon: config.layer_norm_eps,
      dropout: config.hidden_dropout_prob,
      firstPosition: 0,
    });
    return layerNames(config).reduce((hidden, name, layer) => {
      const last = layer === config.num_hidden_layers - 1;
      return postNormLayer(builder, hidden, name, bertLayerNames, {
        heads: config.num_attention_heads,
        width: config.hidden_size,
        biases: [inputs.attentionBias],
        attentionDropout: config.attention_probs_dropout_prob,
        hiddenDropout: config.hidden_dropout_prob,
        activation: config.hidden_act,
        epsilon: config.layer_norm_eps,
        states: last ? states : 'all',
      });
    }, embedded);
  },
  // The pooler belongs to BertModel, so its name has the prefix.
  textHead: poolerHead('bert.pooler.dense', (config) => ({
    width: config.hidden_size,
    deviation: config.initializer_range,
    dropout: headDropout(config),
  })),
  tokenHead: plainHead(headDropout),
});

const layerNames = ({ num_hidden_layers }: BertConfig): string[] =>
  Array.from({ length: num_hidden_layers }, (_, layer) => `encoder.layer.${layer}`);
