import * as z from 'zod';
import { architecture } from '../architecture.js';
import { innerHead, plainHead, typesField } from '../parts.js';
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
} from './bert-like.js';

const schema = z.object({
  model_type: z.literal('bert'),
  ...bertFields,
  type_vocab_size: typesField.default(2),
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
