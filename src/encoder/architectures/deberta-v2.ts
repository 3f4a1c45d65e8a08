import * as z from 'zod';
import type { Tensor } from '../../graph/index.js';
import { architecture } from '../architecture.js';
import type { EncoderBuilder, EncoderInputs } from '../encoder-builder.js';
import { inPart, layerNormParameters, linearParameters, type ParameterSpec, weight } from '../parameter.js';
import {
  activate,
  afterAttention,
  bertLayerNames,
  field,
  type LayerNames,
  plainHead,
  postNormLayerParameters,
  type SelfAttention,
} from '../parts.js';
import { reasonAgainstBertHeads, traitsOf } from './bert.js';

const termsField = z
  .union([z.string().transform((text) => text.split('|').map((each) => each.trim())), z.array(z.string())])
  .nullable()
  .transform((terms) => (terms ?? []).filter((each) => each !== ''))
  .pipe(z.array(z.enum(['c2p', 'p2c'])));

const schema = z.object({
  model_type: z.literal('deberta-v2'),
  vocab_size: field.vocabulary,
  hidden_size: field.width,
  num_hidden_layers: field.layers,
  num_attention_heads: field.heads,
  attention_head_size: field.width.optional(),
  intermediate_size: field.innerWidth,
  embedding_size: field.width.optional(),
  hidden_act: field.activation.default('gelu'),
  hidden_dropout_prob: field.probability.default(0.1),
  attention_probs_dropout_prob: field.probability.default(0.1),
  cls_dropout: field.probability.nullable().optional(),
  pooler_dropout: field.probability.default(0),
  pooler_hidden_act: z.enum(['gelu', 'tanh', 'gelu_new']).default('gelu'),
  pooler_hidden_size: field.width.optional(),
  max_position_embeddings: field.positions.default(512),
  type_vocab_size: z.int().nonnegative().max(256).default(0),
  initializer_range: field.deviation.default(0.02),
  layer_norm_eps: field.epsilon.default(1e-7),
  pad_token_id: field.tokenId.default(0),
  position_biased_input: z.boolean().default(true),
  relative_attention: z.boolean().default(false),
  pos_att_type: termsField.default([]),
  max_relative_positions: z
    .int()
    .max(2 ** 15)
    .default(-1),
  position_buckets: z
    .int()
    .max(2 ** 15)
    .default(-1),
  share_att_key: z.boolean().default(false),
  norm_rel_ebd: z.enum(['none', 'layer_norm']).default('none'),
  conv_kernel_size: z.literal(0, 'convolutions are not supported').default(0),
});
type DebertaConfig = z.infer<typeof schema>;

/** A list of every distance is part of the graph. */
const MAX_RELATIVE_TOKENS = 2 ** 15;

const headDropout = (config: DebertaConfig): number => config.cls_dropout ?? config.hidden_dropout_prob;
const embeddingWidth = (config: DebertaConfig): number => config.embedding_size ?? config.hidden_size;

function relativePositions(config: DebertaConfig): RelativePositions {
  const { max_relative_positions: most, max_position_embeddings: tokens } = config;
  return { buckets: Math.max(0, config.position_buckets), largest: most < 1 ? tokens : most };
}

function reasonAgainst(config: DebertaConfig): string | undefined {
  const { hidden_size: width, num_attention_heads: heads } = config;
  const { attention_head_size: headWidth, pooler_hidden_size: poolerWidth } = config;
  if (headWidth !== undefined && headWidth * heads !== width) {
    return `attention_head_size ${headWidth} times num_attention_heads ${heads} is not hidden_size ${width}`;
  }
  if (poolerWidth !== undefined && poolerWidth !== width) {
    return `pooler_hidden_size ${poolerWidth} is not hidden_size ${width}`;
  }
  if (config.relative_attention && config.max_position_embeddings > MAX_RELATIVE_TOKENS) {
    return `max_position_embeddings ${config.max_position_embeddings} is more than ${MAX_RELATIVE_TOKENS}`;
  }
  return reasonAgainstBertHeads(config);
}

/** DeBERTa v2 and v3 (He et al. 2021a, 2021b) as transformers has them; the largest v2's convolution is refused. */
export const debertaV2 = architecture<DebertaConfig>({
  name: 'DeBERTa',
  classes: { 'deberta-v2': 'DebertaV2' },
  prefix: 'deberta.',
  schema,
  reasonAgainst,
  traits: (config) => ({ ...traitsOf(config, headDropout(config)), tokenTypes: config.type_vocab_size }),
  parameters: (config) => [
    ...inPart('embeddings', embeddingParameters(config)),
    ...layerNames(config).flatMap((name, layer) => inPart(layer, layerParameters(config, name))),
  ],
  states(builder, config, inputs, states) {
    const positions = positionRows(builder, config, inputs);
    return layerNames(config).reduce(
      (hidden, name, layer) => {
        const last = layer === config.num_hidden_layers - 1;
        return debertaLayer(builder, config, inputs, {
          hidden,
          name,
          positions,
          states: last ? states : 'all',
        });
      },
      embed(builder, config, inputs),
    );
  },
  textHead: {
    classifier: 'classifier',
    inner: (config) => linearParameters(POOLER, config.hidden_size, config.hidden_size, config.initializer_range),
    transform(builder, config, x) {
      const pooled = builder.linear(builder.dropout(x, config.pooler_dropout), POOLER);
      return builder.dropout(activate(builder.graph, config.pooler_hidden_act, pooled), headDropout(config));
    },
  },
  tokenHead: plainHead((config) => config.hidden_dropout_prob),
});

const POOLER = 'pooler.dense';
const WORDS = 'embeddings.word_embeddings.weight';
const POSITIONS = 'embeddings.position_embeddings.weight';
const TYPES = 'embeddings.token_type_embeddings.weight';
const RELATIVE = 'encoder.rel_embeddings.weight';
const RELATIVE_NORM = 'encoder.LayerNorm';

const layerNames = ({ num_hidden_layers }: DebertaConfig): string[] =>
  Array.from({ length: num_hidden_layers }, (_, layer) => `encoder.layer.${layer}`);

function embeddingParameters(config: DebertaConfig): ParameterSpec[] {
  const { initializer_range: deviation, hidden_size: width, type_vocab_size: types } = config;
  const narrow = embeddingWidth(config);
  const rows = 2 * spanOf(relativePositions(config));
  return [
    weight(WORDS, [config.vocab_size, narrow], deviation, 'words'),
    ...(config.position_biased_input
      ? [weight(POSITIONS, [config.max_position_embeddings, narrow], deviation, 'table')]
      : []),
    ...(types > 0 ? [weight(TYPES, [types, narrow], deviation, 'table')] : []),
    ...(narrow === width ? [] : [weight('embeddings.embed_proj.weight', [width, narrow], deviation)]),
    ...layerNormParameters('embeddings.LayerNorm', width),
    ...(config.relative_attention ? [weight(RELATIVE, [rows, width], deviation)] : []),
    ...(config.norm_rel_ebd === 'layer_norm' ? layerNormParameters(RELATIVE_NORM, width) : []),
  ];
}

const names: LayerNames = {
  ...bertLayerNames,
  query: 'attention.self.query_proj',
  key: 'attention.self.key_proj',
  value: 'attention.self.value_proj',
};

function layerParameters(config: DebertaConfig, layer: string): ParameterSpec[] {
  const { hidden_size: width, intermediate_size: innerWidth, initializer_range: deviation } = config;
  return [
    ...postNormLayerParameters(layer, names, { width, innerWidth, deviation }),
    ...ownProjections(config).flatMap((name) =>
      linearParameters(`${layer}.attention.self.${name}`, width, width, deviation),
    ),
  ];
}

/** Without `share_att_key`, each term has a projection of its own. */
const projectionOf = (term: PositionTerm, { share_att_key }: DebertaConfig): string =>
  `${share_att_key ? '' : 'pos_'}${term === 'c2p' ? 'key' : 'query'}_proj`;

const ownProjections = (config: DebertaConfig): string[] =>
  config.relative_attention && !config.share_att_key ? termsOf(config).map((term) => projectionOf(term, config)) : [];

const termsOf = ({ pos_att_type }: DebertaConfig): PositionTerm[] => [...new Set(pos_att_type)];

function embed(builder: EncoderBuilder, config: DebertaConfig, inputs: EncoderInputs): Tensor {
  const { graph } = builder;
  let sum = graph.gather(builder.parameter(WORDS), inputs.ids);
  if (config.position_biased_input) {
    sum = graph.add(sum, inputs.positionRows(builder.parameter(POSITIONS), 0));
  }
  if (config.type_vocab_size > 0) {
    sum = graph.add(sum, inputs.typeRows(builder.parameter(TYPES)));
  }
  const rows = graph.flattenRows(sum);
  const narrow = embeddingWidth(config);
  const wide = narrow === config.hidden_size ? rows : builder.linear(rows, 'embeddings.embed_proj');
  const normed = builder.layerNorm(wide, 'embeddings.LayerNorm', config.layer_norm_eps);
  return builder.dropout(normed, config.hidden_dropout_prob);
}

interface TermPositions {
  readonly term: PositionTerm;
  readonly table: Tensor;
  readonly rowsOf: DistanceRows;
}

function positionRows(builder: EncoderBuilder, config: DebertaConfig, inputs: EncoderInputs): TermPositions[] {
  if (!config.relative_attention) return [];
  const normed = (x: Tensor): Tensor =>
    config.norm_rel_ebd === 'none' ? x : builder.layerNorm(x, RELATIVE_NORM, config.layer_norm_eps);
  return termsOf(config).map((term) => {
    const options = { longest: config.max_position_embeddings, term };
    const rowsOf = distanceRows(builder, inputs, relativePositions(config), options);
    const relative = builder.parameter(RELATIVE);
    // Rows are read before they are projected where a batch's distances are fewer than the table's, and after where
    // the projected table is a constant.
    return builder.form === 'inference'
      ? { term, table: normed(relative), rowsOf }
      : { term, table: normed(rowsOf(relative)), rowsOf: (x) => x };
  });
}

interface LayerInputs {
  readonly hidden: Tensor;
  readonly name: string;
  readonly positions: readonly TermPositions[];
  readonly states: 'all' | 'first';
}

function debertaLayer(
  builder: EncoderBuilder,
  config: DebertaConfig,
  inputs: EncoderInputs,
  { hidden, name, positions, states }: LayerInputs,
): Tensor {
  const { hidden_dropout_prob: hiddenDropout, layer_norm_eps: epsilon, hidden_act: activation } = config;
  const headWidth = config.hidden_size / config.num_attention_heads;
  const context = disentangledAttention(builder, inputs, hidden, {
    query: `${name}.${names.query}`,
    key: `${name}.${names.key}`,
    value: `${name}.${names.value}`,
    heads: config.num_attention_heads,
    width: config.hidden_size,
    dropout: config.attention_probs_dropout_prob,
    divisor: Math.sqrt(headWidth * (1 + termsOf(config).length)),
    positions: positions.map(({ term, table, rowsOf }) => {
      const projection = `${name}.attention.self.${projectionOf(term, config)}`;
      return { term, projected: rowsOf(builder.linear(builder.dropout(table, hiddenDropout), projection)) };
    }),
  });
  const asked = (x: Tensor): Tensor => (states === 'all' ? x : builder.firstTokens(x));
  const seen = { context: asked(context), hidden: asked(hidden) };
  return afterAttention(builder, seen, name, names, { hiddenDropout, epsilon, activation });
}

/** How relative positions become rows of the table (He et al. 2021, equation 3; v2 with logarithmic buckets). */
export interface RelativePositions {
  /** Distances below half of it have a row each; above, rows grow logarithmically wider. 0: none. */
  readonly buckets: number;
  /** Distance from which on all share a row. */
  readonly largest: number;
}

/** The row of distance 0: half the rows of the table. */
function spanOf({ buckets, largest }: RelativePositions): number {
  return buckets > 0 ? buckets : largest;
}

/** The row of a distance, as transformers computes it in float32. @param distance query's position − key's. */
export function rowOfDistance(positions: RelativePositions, distance: number): number {
  const span = spanOf(positions);
  const bucket = positions.buckets > 0 ? bucketOf(positions, distance) : distance;
  return Math.min(2 * span - 1, Math.max(0, bucket + span));
}

function bucketOf({ buckets, largest }: RelativePositions, distance: number): number {
  const middle = Math.floor(buckets / 2);
  const size = Math.abs(distance);
  if (size <= middle) return distance;
  const ratio = Math.fround(log32(size / middle) / log32((largest - 1) / middle));
  return Math.sign(distance) * (Math.ceil(Math.fround(ratio * (middle - 1))) + middle);
}

const log32 = (x: number): number => Math.fround(Math.log(Math.fround(x)));

/** Content-to-position and position-to-content. */
type PositionTerm = 'c2p' | 'p2c';

type DistanceRows = (x: Tensor) => Tensor;

/** [rows, width] → [2*tokens, width]: of n tokens, column c has distance n − c for c2p and c − n for p2c. */
function distanceRows(
  { graph, form }: EncoderBuilder,
  inputs: EncoderInputs,
  positions: RelativePositions,
  { longest, term }: { readonly longest: number; readonly term: PositionTerm },
): DistanceRows {
  const sign = term === 'c2p' ? -1 : 1;
  const all = Array.from({ length: 2 * longest }, (_, at) => rowOfDistance(positions, sign * (at - longest)));
  const distances = inputs.distances();
  const places = graph.add(distances, graph.constant([longest], [], distances.type));
  if (form === 'inference') {
    const rows = graph.gather(graph.constant(all, [all.length], 'int32'), places);
    return (x) => graph.gather(x, rows);
  }
  // As a product, since the gradient of a gather needs indices that are fed, and the table is small.
  const rows = graph.reshape(graph.gather(graph.constant(all, [all.length]), places), ['2*tokens', 1]);
  const count = 2 * spanOf(positions);
  const numbers = graph.constant([...Array(count).keys()], [1, count]);
  const away = graph.subtract(rows, numbers);
  const chosen = graph.greater(graph.constant([0.25], []), graph.multiply(away, away));
  return (x) => graph.gemm(chosen, x);
}

interface PositionScores {
  readonly term: PositionTerm;
  /** [2*tokens, width]: keys for c2p, queries for p2c. */
  readonly projected: Tensor;
}

interface DisentangledAttention extends Omit<SelfAttention, 'biases'> {
  readonly divisor: number;
  readonly positions: readonly PositionScores[];
}

/** He et al. 2021, equation 4. Shapes: hidden [tokens*batch, width] → the same. */
function disentangledAttention(
  builder: EncoderBuilder,
  inputs: EncoderInputs,
  hidden: Tensor,
  { query, key, value, heads, width, dropout, divisor, positions }: DisentangledAttention,
): Tensor {
  const { graph } = builder;
  const alpha = 1 / divisor;
  const headWidth = width / heads;
  const split = (name: string): Tensor => {
    const byToken = graph.reshape(builder.linear(hidden, name), ['tokens', 'batch', heads, headWidth]);
    return graph.transpose(byToken, [2, 1, 0, 3]);
  };
  const [queries, keys, values] = [split(query), split(key), split(value)];
  let scores = graph.batchMatMul(queries, keys, { transposeB: true, alpha });
  for (const { term, projected } of positions) {
    const rows = graph.reshape(term === 'c2p' ? queries : keys, [heads, 'batch*tokens', headWidth]);
    const distances = graph.reshape(projected, ['2*tokens', heads, headWidth]);
    const products = graph.batchMatMul(rows, distances, { transposeB: true, rowsFirstB: true, alpha });
    const byDistance = graph.reshape(products, [heads, 'batch', 'tokens', '2*tokens']);
    const byPosition = graph.relativeToAbsolute(byDistance);
    scores = graph.add(scores, term === 'c2p' ? byPosition : graph.transpose(byPosition, [0, 1, 3, 2]));
  }
  const bias = graph.reshape(inputs.attentionBias, [1, 'batch', 1, 'tokens']);
  const weights = builder.dropout(graph.softmax(graph.add(scores, bias)), dropout);
  const context = graph.batchMatMul(weights, values);
  return graph.reshape(graph.transpose(context, [2, 1, 0, 3]), ['tokens*batch', width]);
}
