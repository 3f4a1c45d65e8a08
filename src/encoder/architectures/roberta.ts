import * as z from 'zod';
import { architecture } from '../architecture.js';
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
  model_type: z.enum(['roberta', 'xlm-roberta', 'camembert']),
  ...bertFields,
  pad_token_id: field.tokenId.default(1),
  type_vocab_size: field.types.default(2),
});
type Config = z.infer<typeof schema>;

/** Positions count from the padding token's id + 1; the rows before belong to padding and to no token. */
const firstPosition = ({ pad_token_id }: Config): number => pad_token_id + 1;

/** RoBERTa (Liu et al. 2019), XLM-R (Conneau et al. 2020), CamemBERT (Martin et al. 2020): BERT's layers. */
export const roberta = architecture<Config>({
  name: 'RoBERTa',
  classes: { roberta: 'Roberta', 'xlm-roberta': 'XLMRoberta', camembert: 'Camembert' },
  prefix: 'roberta.',
  schema,
  reasonAgainst(config) {
    const { max_position_embeddings: positions, pad_token_id } = config;
    if (positions > firstPosition(config)) return reasonAgainstBertHeads(config);
    return `max_position_embeddings ${positions} leave no position for a token after pad_token_id ${pad_token_id}`;
  },
  traits: (config) => ({
    ...bertTraits(config),
    maxTokens: config.max_position_embeddings - firstPosition(config),
    tokenTypes: config.type_vocab_size,
    firstPosition: firstPosition(config),
  }),
  parameters: (config) => [...bertTables(config), ...bertLayerParameters(config)],
  states(builder, config, inputs, states) {
    const embedded = bertEmbeddings(builder, config, inputs, firstPosition(config));
    return bertLayers(builder, config, inputs, embedded, states);
  },
  textHead: innerHead(robertaHead, bertInnerLayer),
  tokenHead: plainHead(headDropoutOf),
});
