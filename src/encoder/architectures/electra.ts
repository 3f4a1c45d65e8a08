import * as z from 'zod';
import { architecture } from '../architecture.js';
import { inPart, linearParameters } from '../parameter.js';
import { field, innerHead, plainHead, robertaHead } from '../parts.js';
import {
  bertEmbeddings,
  bertFields,
  bertInnerLayer,
  bertLayerParameters,
  bertLayers,
  bertTables,
  bertTraits,
  headDropoutOf,
  reasonAgainstBertHeads,
} from './bert.js';

const schema = z.object({
  model_type: z.literal('electra'),
  ...bertFields,
  embedding_size: field.width.default(128),
  type_vocab_size: field.types.default(2),
});
type Config = z.infer<typeof schema>;

const PROJECTION = 'embeddings_project';

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
      ...bertTables(config, narrow),
      ...(isProjected(config) ? inPart('embeddings', projection) : []),
      ...bertLayerParameters(config),
    ];
  },
  states(builder, config, inputs, states) {
    const embedded = bertEmbeddings(builder, config, inputs);
    const hidden = isProjected(config) ? builder.linear(embedded, PROJECTION) : embedded;
    return bertLayers(builder, config, inputs, hidden, states);
  },
  // RoBERTa's head with another activation, as the authors have it.
  textHead: innerHead({ ...robertaHead, activation: 'gelu' }, bertInnerLayer),
  tokenHead: plainHead(headDropoutOf),
});
