import * as z from 'zod';
import { field, robertaHead } from '../parts.js';
import { bertFields, bertLike } from './bert.js';

const schema = z.object({
  model_type: z.literal('electra'),
  ...bertFields,
  embedding_size: field.width.default(128),
  type_vocab_size: field.types.default(2),
});

/** The discriminator of ELECTRA (Clark et al. 2020); the small one projects its embeddings to a greater width. */
export const electra = bertLike({
  name: 'ELECTRA',
  classes: { electra: 'Electra' },
  prefix: 'electra.',
  schema,
  projection: ({ embedding_size: inputs, hidden_size }) =>
    inputs === hidden_size ? undefined : { name: 'embeddings_project', inputs },
  // RoBERTa's head with another activation, as the authors have it.
  textHead: { ...robertaHead, activation: 'gelu' },
});
