/** One small config.json of each model_type that can be run, as transformers writes its fields. */

const bert = {
  vocab_size: 11,
  hidden_size: 8,
  num_hidden_layers: 2,
  num_attention_heads: 2,
  intermediate_size: 12,
  hidden_act: 'gelu',
  max_position_embeddings: 6,
  type_vocab_size: 2,
};

/** Positions count from the padding token's id + 1. */
const roberta = { ...bert, pad_token_id: 1, max_position_embeddings: 8, type_vocab_size: 1 };

export const smallConfigs: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  bert,
  roberta,
  'xlm-roberta': roberta,
  camembert: { ...roberta, type_vocab_size: 2 },
  electra: { ...bert, embedding_size: 4 },
  distilbert: {
    vocab_size: 11,
    dim: 8,
    n_layers: 2,
    n_heads: 2,
    hidden_dim: 12,
    activation: 'gelu',
    max_position_embeddings: 6,
    sinusoidal_pos_embds: false,
  },
  mpnet: { ...bert, pad_token_id: 1, max_position_embeddings: 8, relative_attention_num_buckets: 32 },
  'deberta-v2': {
    ...bert,
    relative_attention: true,
    position_buckets: 4,
    max_relative_positions: -1,
    norm_rel_ebd: 'layer_norm',
    share_att_key: true,
    pos_att_type: ['p2c', 'c2p'],
    position_biased_input: false,
    type_vocab_size: 0,
  },
  modernbert: {
    vocab_size: 11,
    hidden_size: 8,
    num_hidden_layers: 4,
    num_attention_heads: 2,
    intermediate_size: 12,
    hidden_activation: 'gelu',
    max_position_embeddings: 6,
    local_attention: 2,
    pad_token_id: 0,
  },
  albert: {
    ...bert,
    embedding_size: 4,
    num_hidden_layers: 3,
    num_hidden_groups: 2,
    hidden_act: 'gelu_new',
  },
};
