import * as z from 'zod';
import type { Tensor } from '../../graph/index.js';
import { architecture } from '../architecture.js';
import type { EncoderBuilder, EncoderInputs } from '../encoder-builder.js';
import { inPart, layerNormParameters, linearParameters, type ParameterSpec, weight } from '../parameter.js';
import { activate, field, type SelfAttention } from '../parts.js';
import { reasonAgainstBertHeads, traitsOf } from './bert.js';

const kindField = z.enum(['full_attention', 'sliding_attention']);
type LayerKind = z.infer<typeof kindField>;

const ropeField = z
  .object({ rope_type: z.literal('default').default('default'), rope_theta: z.number().positive() })
  .optional();

const schema = z.object({
  model_type: z.literal('modernbert'),
  vocab_size: field.vocabulary.default(50_368),
  hidden_size: field.width.default(768),
  intermediate_size: field.innerWidth.default(1152),
  num_hidden_layers: field.layers.default(22),
  num_attention_heads: field.heads.default(12),
  hidden_activation: z.literal('gelu').default('gelu'),
  max_position_embeddings: field.positions.default(8192),
  initializer_range: field.deviation.default(0.02),
  norm_eps: field.epsilon.default(1e-5),
  norm_bias: z.boolean().default(false),
  pad_token_id: field.tokenId.default(50_283),
  attention_bias: z.boolean().default(false),
  attention_dropout: field.probability.default(0),
  embedding_dropout: field.probability.default(0),
  mlp_bias: z.boolean().default(false),
  mlp_dropout: field.probability.default(0),
  local_attention: z
    .int()
    .positive()
    .max(2 ** 20)
    .default(128),
  // The names before and since transformers 5.
  global_attn_every_n_layers: z.int().positive().optional(),
  global_rope_theta: z.number().positive().optional(),
  local_rope_theta: z.number().positive().nullable().optional(),
  layer_types: z.array(kindField).optional(),
  rope_parameters: z.object({ full_attention: ropeField, sliding_attention: ropeField }).optional(),
  classifier_pooling: z.enum(['cls', 'mean']).default('cls'),
  classifier_dropout: field.probability.default(0),
  classifier_bias: z.boolean().default(false),
  classifier_activation: field.activation.default('gelu'),
});
type ModernBertConfig = z.infer<typeof schema>;

/** Tables of angles for every position are part of the graph. */
const MAX_TOKENS = 2 ** 15;

function layerKinds(config: ModernBertConfig): LayerKind[] {
  if (config.layer_types !== undefined) return config.layer_types;
  const every = config.global_attn_every_n_layers ?? 3;
  return Array.from({ length: config.num_hidden_layers }, (_, layer) =>
    layer % every === 0 ? 'full_attention' : 'sliding_attention',
  );
}

function thetaOf(config: ModernBertConfig, kind: LayerKind): number {
  const { rope_parameters: parameters, global_rope_theta: global = 160_000 } = config;
  const { local_rope_theta: local = 10_000 } = config;
  return parameters?.[kind]?.rope_theta ?? (kind === 'full_attention' ? global : (local ?? global));
}

function reasonAgainst(config: ModernBertConfig): string | undefined {
  const { hidden_size: width, num_attention_heads: heads, num_hidden_layers: layers, layer_types } = config;
  if (layer_types !== undefined && layer_types.length !== layers) {
    return `layer_types has ${layer_types.length} entries, num_hidden_layers is ${layers}`;
  }
  if (config.max_position_embeddings > MAX_TOKENS) {
    return `max_position_embeddings ${config.max_position_embeddings} is more than ${MAX_TOKENS}`;
  }
  if ((width / heads) % 2 === 1)
    return `each head has ${width / heads} numbers (hidden_size divided by num_attention_heads), which is not even`;
  return reasonAgainstBertHeads(config);
}

/** ModernBERT (Warner et al. 2024) exactly as ModernBertModel of transformers computes it. */
export const modernBert = architecture<ModernBertConfig>({
  name: 'ModernBERT',
  classes: { modernbert: 'ModernBert' },
  prefix: 'model.',
  schema,
  reasonAgainst,
  traits: (config) => traitsOf(config, config.classifier_dropout),
  parameters: (config) => [
    ...inPart('embeddings', [
      weight(WORDS, [config.vocab_size, config.hidden_size], config.initializer_range, 'words'),
      ...layerNormParameters(EMBEDDING_NORM, config.hidden_size, config.norm_bias),
    ]),
    ...layerKinds(config).flatMap((_, layer) => inPart(layer, layerParameters(config, layer))),
    ...inPart(config.num_hidden_layers - 1, layerNormParameters(FINAL_NORM, config.hidden_size, config.norm_bias)),
  ],
  states(builder, config, inputs, states) {
    const { graph } = builder;
    const words = graph.flattenRows(graph.gather(builder.parameter(WORDS), inputs.ids));
    const normed = builder.layerNorm(words, EMBEDDING_NORM, config.norm_eps);
    const angles = {
      width: config.hidden_size / config.num_attention_heads,
      longest: config.max_position_embeddings,
    };
    const viewOf = (kind: LayerKind): View => ({
      rotation: rotation(builder, inputs, { ...angles, theta: thetaOf(config, kind) }),
      bias:
        kind === 'full_attention'
          ? inputs.attentionBias
          : windowBias(builder, inputs, Math.floor(config.local_attention / 2)),
    });
    const kinds = layerKinds(config);
    const views = new Map([...new Set(kinds)].map((kind) => [kind, viewOf(kind)]));
    const last = kinds.reduce(
      (hidden, kind, layer) => {
        const view = views.get(kind) ?? viewOf(kind);
        const isLast = layer === kinds.length - 1;
        return modernBertLayer(builder, config, { hidden, layer, view, states: isLast ? states : 'all' });
      },
      builder.dropout(normed, config.embedding_dropout),
    );
    return builder.layerNorm(last, FINAL_NORM, config.norm_eps);
  },
  textHead: {
    classifier: 'classifier',
    pooling: ({ classifier_pooling }) => (classifier_pooling === 'mean' ? 'mean' : 'first'),
    inner: headParameters,
    transform: head,
  },
  tokenHead: { classifier: 'classifier', inner: headParameters, transform: head },
});

interface View {
  readonly rotation: Rotation;
  readonly bias: Tensor;
}

const WORDS = 'embeddings.tok_embeddings.weight';
const EMBEDDING_NORM = 'embeddings.norm';
const FINAL_NORM = 'final_norm';
const HEAD_DENSE = 'head.dense';
const HEAD_NORM = 'head.norm';

/** The first layer reads the normalized embeddings, so it has no LayerNorm before its attention. */
const hasAttentionNorm = (layer: number): boolean => layer > 0;

function layerParameters(config: ModernBertConfig, layer: number): ParameterSpec[] {
  const { hidden_size: width, intermediate_size: inner, initializer_range: deviation } = config;
  const name = `layers.${layer}`;
  const norm = (part: string) => layerNormParameters(`${name}.${part}`, width, config.norm_bias);
  const attention = { hasBias: config.attention_bias };
  const mlp = { hasBias: config.mlp_bias };
  return [
    ...(hasAttentionNorm(layer) ? norm('attn_norm') : []),
    ...linearParameters(`${name}.attn.Wqkv`, width, 3 * width, deviation, { role: 'query-key-value', ...attention }),
    ...linearParameters(`${name}.attn.Wo`, width, width, deviation, { role: 'attention-output', ...attention }),
    ...norm('mlp_norm'),
    ...linearParameters(`${name}.mlp.Wi`, width, 2 * inner, deviation, { role: 'inner', ...mlp }),
    ...linearParameters(`${name}.mlp.Wo`, inner, width, deviation, { role: 'outer', ...mlp }),
  ];
}

interface LayerInputs {
  readonly hidden: Tensor;
  readonly layer: number;
  readonly view: View;
  readonly states: 'all' | 'first';
}

function modernBertLayer(
  builder: EncoderBuilder,
  config: ModernBertConfig,
  { hidden, layer, view, states }: LayerInputs,
): Tensor {
  const { graph } = builder;
  const name = `layers.${layer}`;
  const asked = (x: Tensor): Tensor => (states === 'all' ? x : builder.firstTokens(x));
  const context = rotaryAttention(
    builder,
    hasAttentionNorm(layer) ? builder.layerNorm(hidden, `${name}.attn_norm`, config.norm_eps) : hidden,
    {
      name: `${name}.attn.Wqkv`,
      heads: config.num_attention_heads,
      width: config.hidden_size,
      dropout: config.attention_dropout,
      ...view,
    },
  );
  const output = builder.dropout(builder.linear(asked(context), `${name}.attn.Wo`), config.attention_dropout);
  const attended = graph.add(asked(hidden), output);
  const normed = builder.layerNorm(attended, `${name}.mlp_norm`, config.norm_eps);
  const transformed = gatedFeedForward(builder, normed, {
    inner: `${name}.mlp.Wi`,
    outer: `${name}.mlp.Wo`,
    innerWidth: config.intermediate_size,
    dropout: config.mlp_dropout,
  });
  return graph.add(attended, transformed);
}

function headParameters(config: ModernBertConfig): ParameterSpec[] {
  const { hidden_size: width, initializer_range: deviation, classifier_bias: hasBias } = config;
  return [
    ...linearParameters(HEAD_DENSE, width, width, deviation, { hasBias }),
    ...layerNormParameters(HEAD_NORM, width, config.norm_bias),
  ];
}

function head(builder: EncoderBuilder, config: ModernBertConfig, x: Tensor): Tensor {
  const dense = builder.linear(x, HEAD_DENSE);
  const activated = activate(builder.graph, config.classifier_activation, dense);
  return builder.dropout(builder.layerNorm(activated, HEAD_NORM, config.norm_eps), config.classifier_dropout);
}

/** [tokens, 1, 1, half a head] each. */
interface Rotation {
  readonly cos: Tensor;
  readonly sin: Tensor;
}

interface Angles {
  readonly width: number;
  /** How slowly the last pairs of a head's numbers are turned. */
  readonly theta: number;
  readonly longest: number;
}

/** Su et al. 2021, equation 15, in float32. Tables, since GPUs compute cosines of large angles coarsely. */
function rotation({ graph }: EncoderBuilder, inputs: EncoderInputs, { width, theta, longest }: Angles): Rotation {
  const half = width / 2;
  const frequencies = Array.from({ length: half }, (_, pair) =>
    Math.fround(1 / Math.fround(theta ** ((2 * pair) / width))),
  );
  const rowsOf = (compute: (angle: number) => number): Tensor => {
    const values = Array.from({ length: longest * half }, (_, at) =>
      compute(Math.fround(Math.floor(at / half) * (frequencies[at % half] ?? 0))),
    );
    const rows = inputs.positionRows(graph.constant(values, [longest, half]), 0);
    return graph.reshape(rows, ['tokens', 1, 1, half]);
  };
  return { cos: rowsOf(Math.cos), sin: rowsOf(Math.sin) };
}

/** Each token attends to those at most `reach` tokens before or after it. [batch, 1, tokens, tokens]. */
function windowBias({ graph }: EncoderBuilder, inputs: EncoderInputs, reach: number): Tensor {
  const positions = graph.cast(inputs.positions(), 'float32');
  const away = graph.subtract(graph.reshape(positions, ['tokens', 1]), graph.reshape(positions, [1, 'tokens']));
  const isOutside = graph.greater(graph.multiply(away, away), graph.constant([reach ** 2], []));
  return graph.add(inputs.attentionBias, graph.scale(isOutside, inputs.maskedBias));
}

interface RotaryAttention extends Pick<SelfAttention, 'heads' | 'width' | 'dropout'> {
  readonly name: string;
  readonly rotation: Rotation;
  /** Broadcast to [batch, heads, tokens, tokens]. */
  readonly bias: Tensor;
}

/** Shapes: hidden [tokens*batch, width] → the same. */
function rotaryAttention(
  builder: EncoderBuilder,
  hidden: Tensor,
  { name, heads, width, dropout, rotation, bias }: RotaryAttention,
): Tensor {
  const { graph } = builder;
  const headWidth = width / heads;
  const all = graph.reshape(builder.linear(hidden, name), ['tokens', 'batch', 3 * heads, headWidth]);
  const part = (at: number): Tensor => graph.slice(all, HEADS, at * heads, (at + 1) * heads);
  const [queries, keys] = [turned(builder, part(0), rotation), turned(builder, part(1), rotation)];
  const scores = graph.batchMatMul(queries, keys, {
    rowsFirstA: true,
    rowsFirstB: true,
    transposeB: true,
    alpha: 1 / Math.sqrt(headWidth),
  });
  const weights = builder.dropout(graph.softmax(graph.add(scores, bias)), dropout);
  const context = graph.batchMatMul(weights, part(2), { rowsFirstB: true });
  return graph.reshape(graph.transpose(context, [2, 0, 1, 3]), ['tokens*batch', width]);
}

const HEADS = 2;
const WITHIN_HEAD = 3;

/** Number i of a head's first half and number i of its second make up a pair, which is turned by angle i. */
function turned({ graph }: EncoderBuilder, x: Tensor, { cos, sin }: Rotation): Tensor {
  const width = Number(x.shape[WITHIN_HEAD]);
  const first = graph.slice(x, WITHIN_HEAD, 0, width / 2);
  const second = graph.slice(x, WITHIN_HEAD, width / 2, width);
  const turnedFirst = graph.subtract(graph.multiply(first, cos), graph.multiply(second, sin));
  const turnedSecond = graph.add(graph.multiply(second, cos), graph.multiply(first, sin));
  return graph.concat([turnedFirst, turnedSecond], WITHIN_HEAD);
}

interface GatedFeedForward {
  /** The inner layer gives two halves of `innerWidth` numbers each. */
  readonly inner: string;
  readonly outer: string;
  readonly innerWidth: number;
  /** Before the outer layer. */
  readonly dropout: number;
}

/** GEGLU (Shazeer 2020): W₂·(GELU(a) ⊙ b), a and b the halves of W₁x. Shapes: x [rows, width] → [rows, width]. */
function gatedFeedForward(
  builder: EncoderBuilder,
  x: Tensor,
  { inner, outer, innerWidth, dropout }: GatedFeedForward,
): Tensor {
  const { graph } = builder;
  const isDifferentiable = builder.form === 'differentiable';
  const both = builder.linear(x, inner, isDifferentiable ? { factor: Math.SQRT1_2 } : {});
  const first = graph.slice(both, 1, 0, innerWidth);
  const gate = graph.slice(both, 1, innerWidth, 2 * innerWidth);
  // gaussianGate(a/√2) is GELU(a)/√2, and its factor here is b/√2.
  const gated = graph.multiply(isDifferentiable ? graph.gaussianGate(first) : graph.gelu(first), gate);
  return builder.linear(builder.dropout(gated, dropout), outer, isDifferentiable ? { inputFactor: 2 } : {});
}
