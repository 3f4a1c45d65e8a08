/**
 * Model types of the Hugging Face Hub whose encoder computes the same as BERT's, and how they store it.
 * Others (ALBERT, DeBERTa, MPNet, ModernBERT, …) share layers or encode positions differently, and can't be
 * read as BERT.
 */

/** How the config.json and the weights of a model type correspond to BertModel's. */
export interface CheckpointLayout {
  /** Prefix that the names of its weights may have; a bare encoder's have none. */
  readonly prefix: string;
  /** Translates its config.json into BERT's fields. */
  readonly config: (json: JsonObject) => JsonObject;
  /** Its name for a parameter of BertModel; undefined if it lacks that parameter, which is then all zeros. */
  readonly nameOf: (bertName: string) => string | undefined;
  /** Rows at the start of the position embeddings that no token uses. */
  readonly unusedPositions: (json: JsonObject) => number;
}

export type JsonObject = Readonly<Record<string, unknown>>;

const bert: CheckpointLayout = {
  prefix: 'bert.',
  config: (json) => json,
  nameOf: (name) => name,
  unusedPositions: () => 0,
};

/** RoBERTa (Liu et al. 2019) counts positions from the padding token's id + 1. */
const roberta: CheckpointLayout = {
  ...bert,
  prefix: 'roberta.',
  config: (json) => ({
    ...json,
    max_position_embeddings: numberIn(json, 'max_position_embeddings') - roberta.unusedPositions(json),
  }),
  unusedPositions: (json) => numberIn(json, 'pad_token_id', 1) + 1,
};

/**
 * The discriminator of ELECTRA (Clark et al. 2020). The small one projects its embeddings to a greater width,
 * which BERT has no layer for.
 */
const electra: CheckpointLayout = { ...bert, prefix: 'electra.' };

const distilbertNames: readonly (readonly [bert: string, distilbert: string])[] = [
  ['encoder.layer.', 'transformer.layer.'],
  ['.attention.self.query.', '.attention.q_lin.'],
  ['.attention.self.key.', '.attention.k_lin.'],
  ['.attention.self.value.', '.attention.v_lin.'],
  ['.attention.output.dense.', '.attention.out_lin.'],
  ['.attention.output.LayerNorm.', '.sa_layer_norm.'],
  ['.intermediate.dense.', '.ffn.lin1.'],
  ['.output.dense.', '.ffn.lin2.'],
  ['.output.LayerNorm.', '.output_layer_norm.'],
];

/** DistilBERT (Sanh et al. 2019): BERT without token types and pooler. */
const distilbert: CheckpointLayout = {
  ...bert,
  prefix: 'distilbert.',
  config: (json) => ({
    ...json,
    hidden_size: json.dim,
    num_hidden_layers: json.n_layers,
    num_attention_heads: json.n_heads,
    intermediate_size: json.hidden_dim,
    hidden_act: json.activation,
    hidden_dropout_prob: json.dropout,
    attention_probs_dropout_prob: json.attention_dropout,
    type_vocab_size: 2,
  }),
  nameOf: (name) =>
    name === 'embeddings.token_type_embeddings.weight'
      ? undefined
      : distilbertNames.reduce((renamed, [from, to]) => renamed.replace(from, to), name),
};

export const checkpointLayouts: ReadonlyMap<unknown, CheckpointLayout> = new Map([
  ['bert', bert],
  ['roberta', roberta],
  ['xlm-roberta', roberta],
  ['camembert', roberta],
  ['electra', electra],
  ['distilbert', distilbert],
]);

function numberIn(json: JsonObject, field: string, absent = Number.NaN): number {
  const value = json[field] ?? absent;
  return typeof value === 'number' ? value : Number.NaN;
}
