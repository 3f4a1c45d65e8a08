import * as z from 'zod';
import { architecture } from '../architecture.js';
import {
  bertLayerNames,
  embed,
  embeddingParameters,
  innerHead,
  plainHead,
  type Stack,
  stack,
  stackParameters,
  typesField,
} from '../parts/index.js';
import {
  bertFields,
  bertInnerLayer,
  bertLayerOptions,
  bertTraits,
  bertWidths,
  headDropoutOf,
  reasonAgainstBertHeads,
} from './bert-fields.js';

const schema = z.object({
  model_type: z.literal('bert'),
  ...bertFields,
  type_vocab_size: typesField.default(2),
});
type Config = z.infer<typeof schema>;

const layersOf = ({ num_hidden_layers }: Config): Stack => ({
  layers: num_hidden_layers,
  stem: 'encoder.layer',
  names: bertLayerNames,
});

/** BERT (Devlin et al. 2019): LayerNorm after each block, token types, GELU by the error function, a pooler. */
export const bert = architecture<Config>({
  name: 'BERT',
  classes: { bert: 'Bert' },
  prefix: 'bert.',
  schema,
  reasonAgainst: reasonAgainstBertHeads,
  traits: (config) => ({ ...bertTraits(config), tokenTypes: config.type_vocab_size }),
  parameters: (config) => [
    ...embeddingParameters({
      vocabulary: config.vocab_size,
      positions: config.max_position_embeddings,
      types: config.type_vocab_size,
      width: config.hidden_size,
      deviation: config.initializer_range,
    }),
    ...stackParameters(layersOf(config), bertWidths(config)),
  ],
  states(builder, config, inputs, states) {
    const embedded = embed(builder, inputs, {
      epsilon: config.layer_norm_eps,
      dropout: config.hidden_dropout_prob,
      firstPosition: 0,
    });
    const options = { ...bertLayerOptions(config), biases: [inputs.attentionBias], states };
    return stack(builder, embedded, layersOf(config), options);
  },
  // The pooler belongs to BertModel, so its name has the prefix.
  textHead: innerHead(
    { inner: 'bert.pooler.dense', classifier: 'classifier', activation: 'tanh', dropsInput: false },
    bertInnerLayer,
  ),
  tokenHead: plainHead(headDropoutOf),
});
