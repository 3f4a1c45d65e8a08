import * as z from 'zod';
import { inPart } from '../parameter.js';
import { field, type LayerNames, postNormLayer, postNormLayerParameters } from '../parts.js';
import { bertFields, bertLayerOptions, bertLike, bertWidths } from './bert.js';

const { classifier_dropout, ...fields } = bertFields;

const schema = z.object({
  model_type: z.literal('albert'),
  ...fields,
  hidden_act: field.activation.default('gelu_new'),
  hidden_dropout_prob: field.probability.default(0),
  attention_probs_dropout_prob: field.probability.default(0),
  classifier_dropout_prob: field.probability.default(0.1),
  embedding_size: field.width.default(128),
  num_hidden_groups: field.layers.default(1),
  inner_group_num: field.layers.default(1),
  type_vocab_size: field.types.default(2),
});
type Config = z.infer<typeof schema>;

const names: LayerNames = {
  query: 'attention.query',
  key: 'attention.key',
  value: 'attention.value',
  attentionOutput: 'attention.dense',
  attentionNorm: 'attention.LayerNorm',
  inner: 'ffn',
  outer: 'ffn_output',
  outputNorm: 'full_layer_layer_norm',
};

const layerName = (group: number, inner: number): string =>
  `encoder.albert_layer_groups.${group}.albert_layers.${inner}`;

/** The layers in the order in which they compute; those of a group share their weights. */
function layersOf({ num_hidden_layers, num_hidden_groups, inner_group_num }: Config): string[] {
  return Array.from({ length: num_hidden_layers }, (_, layer) => {
    const group = Math.floor(layer / (num_hidden_layers / num_hidden_groups));
    return Array.from({ length: inner_group_num }, (_, inner) => layerName(group, inner));
  }).flat();
}

/** ALBERT (Lan et al. 2020): layers that share weights, narrow embeddings, GELU by tanh. */
export const albert = bertLike<Config>({
  name: 'ALBERT',
  classes: { albert: 'Albert' },
  prefix: 'albert.',
  schema,
  projection: ({ embedding_size: inputs }) => ({ name: 'encoder.embedding_hidden_mapping_in', inputs }),
  layers: {
    parameters(config) {
      const order = layersOf(config);
      return [...new Set(order)].flatMap((name) =>
        inPart(order.indexOf(name), postNormLayerParameters(name, names, bertWidths(config))),
      );
    },
    states: (builder, config, inputs, embedded, states) =>
      layersOf(config).reduce(
        (hidden, name, at, order) =>
          postNormLayer(builder, hidden, name, names, {
            ...bertLayerOptions(config),
            outputDropout: 0,
            biases: [inputs.attentionBias],
            states: at === order.length - 1 ? states : 'all',
          }),
        embedded,
      ),
  },
  layerCount: (config) => config.num_hidden_layers * config.inner_group_num,
  // The pooler belongs to AlbertModel, so its name has the prefix.
  textHead: { inner: 'albert.pooler', classifier: 'classifier', activation: 'tanh', dropsInput: false },
  headDropout: (config) => config.classifier_dropout_prob,
});
