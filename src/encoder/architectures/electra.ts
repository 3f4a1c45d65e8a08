import * as z from 'zod';
import { architecture } from '../architecture.js';
import { inPart, linearParameters } from '../parameter.js';
import {
  bertLayerNames,
  embed,
  embeddingParameters,
  innerHead,
  plainHead,
  robertaHead,
  type Stack,
  stack,
  stackParameters,
  typesField,
  widthField,
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
  model_type: z.literal('electra'),
  ...bertFields,
  embedding_size: widthField.default(128),
  type_vocab_size: typesField.default(2),
});
type Config = z.infer<typeof schema>;

const PROJECTION = 'embeddings_project';

const layersOf = ({ num_hidden_layers }: Config): Stack => ({
  layers: num_hidden_layers,
  stem: 'encoder.layer',
  names: bertLayerNames,
});

const isProjected = ({ embedding_size, hidden_size }: Config): boolean => embedding_size !== hidden_size;

/** The discriminator of ELECTRA (Clark et al. 2020); the small one projects its embeddings to a greater width. */
export const electra = architecture<Config>({
  name: 'ELECTRA',
  classes: { electra: 'Electra' },
  prefix: 'electra.',
  schema,
  reasonAgainst: reasonAgainstBertHeads,
  traits: (config) => ({ ...bertTraits(config), tokenTypes: config.type_vocab_size }),
  parameters(config) {
    const { embedding_size: narrow, hidden_size: width, initializer_range: deviation } = config;
    const projection = linearParameters(PROJECTION, narrow, width, deviation);
    return [
      ...embeddingParameters({
        vocabulary: config.vocab_size,
        positions: config.max_position_embeddings,
        types: config.type_vocab_size,
        width: narrow,
        deviation,
      }),
      ...(isProjected(config) ? inPart('embeddings', projection) : []),
      ...stackParameters(layersOf(config), bertWidths(config)),
    ];
  },
  states(builder, config, inputs, states) {
    const embedded = embed(builder, inputs, {
      epsilon: config.layer_norm_eps,
      dropout: config.hidden_dropout_prob,
      firstPosition: 0,
    });
    const hidden = isProjected(config) ? builder.linear(embedded, PROJECTION) : embedded;
    const options = { ...bertLayerOptions(config), biases: [inputs.attentionBias], states };
    return stack(builder, hidden, layersOf(config), options);
  },
  // RoBERTa's head with another activation, as the authors have it.
  textHead: innerHead({ ...robertaHead, activation: 'gelu' }, bertInnerLayer),
  tokenHead: plainHead(headDropoutOf),
});
