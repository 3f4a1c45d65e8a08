import * as z from 'zod';
import { field, robertaHead } from '../parts.js';
import { bertFields, bertLike } from './bert.js';

const schema = z.object({
  model_type: z.enum(['roberta', 'xlm-roberta', 'camembert']),
  ...bertFields,
  pad_token_id: field.tokenId.default(1),
  type_vocab_size: field.types.default(2),
});

/** RoBERTa (Liu et al. 2019), XLM-R (Conneau et al. 2020), CamemBERT (Martin et al. 2020): BERT's layers. */
export const roberta = bertLike({
  name: 'RoBERTa',
  classes: { roberta: 'Roberta', 'xlm-roberta': 'XLMRoberta', camembert: 'Camembert' },
  prefix: 'roberta.',
  schema,
  // The rows before belong to padding and to no token.
  firstPosition: ({ pad_token_id }) => pad_token_id + 1,
  textHead: robertaHead,
});
