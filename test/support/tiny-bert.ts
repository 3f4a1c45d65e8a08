import { readEncoder } from '../../src/encoder/index.js';

/** An encoder of one layer that learns in milliseconds: 25 pieces, at most 12 tokens. */
export const tinyBert = readEncoder(
  {
    model_type: 'bert',
    vocab_size: 25,
    hidden_size: 16,
    num_hidden_layers: 1,
    num_attention_heads: 2,
    intermediate_size: 32,
    max_position_embeddings: 12,
    initializer_range: 0.2,
  },
  'config.json',
);
