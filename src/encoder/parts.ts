import * as z from 'zod';
import type { Dimension, Graph, Shape, Tensor } from '../graph/index.js';
import type { HeadDefinition } from './architecture.js';
import type { EncoderBuilder, EncoderInputs } from './encoder-builder.js';
import { inPart, layerNormParameters, linearParameters, type ParameterSpec, weight } from './parameter.js';

/** The widest BERT has 1,024. */
const MAX_WIDTH = 65_536;

/** A size is known before its weights, so lists of that length must not take up memory. */
const size = (most: number) => z.int().positive().max(most);

export const field = {
  vocabulary: size(2 ** 24),
  width: size(MAX_WIDTH),
  layers: size(1024),
  heads: size(MAX_WIDTH),
  innerWidth: size(16 * MAX_WIDTH),
  positions: size(2 ** 20),
  types: size(256),
  tokenId: z
    .int()
    .nonnegative()
    .max(2 ** 24),
  probability: z.number().min(0).max(1),
  epsilon: z.number().positive(),
  deviation: z.number().positive(),
  /** Between the layers of a feed-forward block. */
  activation: z.enum(['gelu', 'gelu_new', 'gelu_pytorch_tanh', 'relu']),
};

/** Why heads can't share a width evenly; undefined if they can. */
export function reasonAgainstHeads(
  widthName: string,
  width: number,
  headsName: string,
  heads: number,
): string | undefined {
  if (width % heads === 0) return undefined;
  return `${widthName} ${width} is not a multiple of ${headsName} ${heads}`;
}

type ActivationRule = (graph: Graph, x: Tensor) => Tensor;

const activations = {
  gelu: (graph, x) => graph.gelu(x),
  gelu_new: (graph, x) => graph.geluTanh(x),
  gelu_pytorch_tanh: (graph, x) => graph.geluTanh(x),
  relu: (graph, x) => graph.multiply(x, graph.greater(x, graph.constant([0], []))),
  tanh: (graph, x) => graph.tanh(x),
} satisfies Readonly<Record<string, ActivationRule>>;

type Activation = keyof typeof activations;

export function activate(graph: Graph, name: Activation, x: Tensor): Tensor {
  return activations[name](graph, x);
}

interface Embeddings {
  readonly vocabulary: number;
  readonly positions: number;
  /** Undefined: none is read. */
  readonly types?: number;
  readonly width: number;
  readonly deviation: number;
}

const WORDS = 'embeddings.word_embeddings';
const POSITIONS = 'embeddings.position_embeddings';
const TYPES = 'embeddings.token_type_embeddings';
const NORM = 'embeddings.LayerNorm';

export function embeddingParameters({ vocabulary, positions, types, width, deviation }: Embeddings): ParameterSpec[] {
  return inPart('embeddings', [
    weight(`${WORDS}.weight`, [vocabulary, width], deviation, 'words'),
    weight(`${POSITIONS}.weight`, [positions, width], deviation, 'table'),
    ...(types === undefined ? [] : [weight(`${TYPES}.weight`, [types, width], deviation, 'table')]),
    ...layerNormParameters(NORM, width),
  ]);
}

interface EmbedOptions {
  /** Default true. */
  readonly types?: boolean;
  readonly epsilon: number;
  readonly dropout: number;
  readonly firstPosition: number;
}

/** [tokens*batch, width]. */
export function embed(
  builder: EncoderBuilder,
  inputs: EncoderInputs,
  { types = true, epsilon, dropout, firstPosition }: EmbedOptions,
): Tensor {
  const { graph } = builder;
  const words = graph.gather(builder.parameter(`${WORDS}.weight`), inputs.ids);
  const typed = types ? graph.add(words, inputs.typeRows(builder.parameter(`${TYPES}.weight`))) : words;
  const positions = inputs.positionRows(builder.parameter(`${POSITIONS}.weight`), firstPosition);
  const sum = graph.flattenRows(graph.add(typed, positions));
  return builder.dropout(builder.layerNorm(sum, NORM, epsilon), dropout);
}

export interface SelfAttention {
  readonly query: string;
  readonly key: string;
  readonly value: string;
  readonly heads: number;
  readonly width: number;
  readonly dropout: number;
  /** Each broadcast to [batch, heads, asked tokens, tokens]. */
  readonly biases: readonly Tensor[];
}

/** Vaswani et al. 2017. Shapes: hidden [tokens*batch, width], asked the same or [batch, width] → that of asked. */
function selfAttention(
  builder: EncoderBuilder,
  asked: Tensor,
  hidden: Tensor,
  { query, key, value, heads, width, dropout, biases }: SelfAttention,
): Tensor {
  const { graph } = builder;
  const headWidth = width / heads;
  const askedTokens: Dimension = asked === hidden ? 'tokens' : 1;
  const split = (x: Tensor, tokens: Dimension): Tensor => graph.reshape(x, [tokens, 'batch', heads, headWidth]);
  const queries = split(builder.linear(asked, query), askedTokens);
  const keys = split(builder.linear(hidden, key), 'tokens');
  const values = split(builder.linear(hidden, value), 'tokens');
  const products = graph.batchMatMul(queries, keys, {
    rowsFirstA: true,
    rowsFirstB: true,
    transposeB: true,
    alpha: 1 / Math.sqrt(headWidth),
  });
  const scores = biases.reduce((sum, bias) => graph.add(sum, bias), products);
  const weights = builder.dropout(graph.softmax(scores), dropout);
  const context = graph.batchMatMul(weights, values, { rowsFirstB: true });
  const rows: Shape = [askedTokens === 1 ? 'batch' : 'tokens*batch', width];
  return graph.reshape(graph.transpose(context, [2, 0, 1, 3]), rows);
}

interface FeedForward {
  readonly inner: string;
  readonly outer: string;
  readonly activation: Activation;
}

/** W₂·a(W₁x + b₁) + b₂, with {@link Graph.gaussianGate} where gradients are needed. x [rows, width] → [rows, width]. */
function feedForward(builder: EncoderBuilder, x: Tensor, { inner, outer, activation }: FeedForward): Tensor {
  const { graph } = builder;
  if (activation === 'gelu' && builder.form === 'differentiable') {
    const z = builder.linear(x, inner, { factor: Math.SQRT1_2 });
    return builder.linear(graph.gaussianGate(z), outer, { inputFactor: Math.SQRT2 });
  }
  return builder.linear(activate(graph, activation, builder.linear(x, inner)), outer);
}

/** Each after the layer's own name and a dot. */
export interface LayerNames {
  readonly query: string;
  readonly key: string;
  readonly value: string;
  readonly attentionOutput: string;
  readonly attentionNorm: string;
  readonly inner: string;
  readonly outer: string;
  readonly outputNorm: string;
}

export const bertLayerNames: LayerNames = {
  query: 'attention.self.query',
  key: 'attention.self.key',
  value: 'attention.self.value',
  attentionOutput: 'attention.output.dense',
  attentionNorm: 'attention.output.LayerNorm',
  inner: 'intermediate.dense',
  outer: 'output.dense',
  outputNorm: 'output.LayerNorm',
};

interface LayerWidths {
  readonly width: number;
  readonly innerWidth: number;
  readonly deviation: number;
}

export function postNormLayerParameters(
  layer: string,
  names: LayerNames,
  { width, innerWidth, deviation }: LayerWidths,
): ParameterSpec[] {
  const name = (part: keyof LayerNames) => `${layer}.${names[part]}`;
  return [
    ...linearParameters(name('query'), width, width, deviation, { role: 'query' }),
    ...linearParameters(name('key'), width, width, deviation, { role: 'key' }),
    ...linearParameters(name('value'), width, width, deviation, { role: 'value' }),
    ...linearParameters(name('attentionOutput'), width, width, deviation, { role: 'attention-output' }),
    ...layerNormParameters(name('attentionNorm'), width),
    ...linearParameters(name('inner'), width, innerWidth, deviation, { role: 'inner' }),
    ...linearParameters(name('outer'), innerWidth, width, deviation, { role: 'outer' }),
    ...layerNormParameters(name('outputNorm'), width),
  ];
}

interface AfterAttention extends Pick<FeedForward, 'activation'> {
  /** Dropout of what attention and the feed-forward block give. */
  readonly hiddenDropout: number;
  /** Default: `hiddenDropout`. */
  readonly outputDropout?: number;
  readonly epsilon: number;
}

interface PostNormLayer extends AfterAttention, Omit<SelfAttention, 'query' | 'key' | 'value' | 'dropout'> {
  readonly attentionDropout: number;
  readonly states: 'all' | 'first';
}

/** Shapes: hidden [tokens*batch, width] → the same, or [batch, width] for `first`. */
export function postNormLayer(
  builder: EncoderBuilder,
  hidden: Tensor,
  layer: string,
  names: LayerNames,
  options: PostNormLayer,
): Tensor {
  const name = (part: keyof LayerNames) => `${layer}.${names[part]}`;
  const asked = options.states === 'all' ? hidden : builder.firstTokens(hidden);
  const context = selfAttention(builder, asked, hidden, {
    ...options,
    query: name('query'),
    key: name('key'),
    value: name('value'),
    dropout: options.attentionDropout,
  });
  return afterAttention(builder, { context, hidden: asked }, layer, names, options);
}

/** Shapes: context, which attention gives, and hidden, which the layer reads, [rows, width] → the same. */
export function afterAttention(
  builder: EncoderBuilder,
  { context, hidden }: { readonly context: Tensor; readonly hidden: Tensor },
  layer: string,
  names: LayerNames,
  { hiddenDropout, outputDropout = hiddenDropout, epsilon, activation }: AfterAttention,
): Tensor {
  const { graph } = builder;
  const name = (part: keyof LayerNames) => `${layer}.${names[part]}`;
  const projected = builder.dropout(builder.linear(context, name('attentionOutput')), hiddenDropout);
  const attended = builder.layerNorm(graph.add(projected, hidden), name('attentionNorm'), epsilon);
  const blocks = { inner: name('inner'), outer: name('outer'), activation };
  const transformed = builder.dropout(feedForward(builder, attended, blocks), outputDropout);
  return builder.layerNorm(graph.add(transformed, attended), name('outputNorm'), epsilon);
}

export interface Stack {
  readonly layers: number;
  /** `encoder.layer`. */
  readonly stem: string;
  readonly names: LayerNames;
}

export function stackParameters({ layers, stem, names }: Stack, widths: LayerWidths): ParameterSpec[] {
  return Array.from({ length: layers }, (_, layer) =>
    inPart(layer, postNormLayerParameters(`${stem}.${layer}`, names, widths)),
  ).flat();
}

interface StackOptions extends Omit<PostNormLayer, 'biases'> {
  /** Added to a layer's scores. */
  biases(asked: 'all' | 'first'): readonly Tensor[];
}

/** Shapes: hidden [tokens*batch, width] → the same, or [batch, width] for `first`. */
export function stack(
  builder: EncoderBuilder,
  hidden: Tensor,
  { layers, stem, names }: Stack,
  { states, biases, ...options }: StackOptions,
): Tensor {
  let computed = hidden;
  for (let layer = 0; layer < layers; layer += 1) {
    const asked = layer === layers - 1 ? states : 'all';
    const own = { ...options, biases: biases(asked), states: asked };
    computed = postNormLayer(builder, computed, `${stem}.${layer}`, names, own);
  }
  return computed;
}

export function plainHead<Config>(dropoutOf: (config: Config) => number): HeadDefinition<Config> {
  return {
    classifier: 'classifier',
    transform: (builder, config, x) => builder.dropout(x, dropoutOf(config)),
  };
}

interface InnerLayer {
  readonly width: number;
  readonly deviation: number;
  readonly dropout: number;
}

export interface InnerHead {
  readonly inner: string;
  readonly classifier: string;
  readonly activation: Activation;
  /** Whether the inner layer's input has dropout, too. */
  readonly dropsInput: boolean;
}

/** Over the first token's state. */
export function innerHead<Config>(
  { inner, classifier, activation, dropsInput }: InnerHead,
  layerOf: (config: Config) => InnerLayer,
): HeadDefinition<Config> {
  return {
    classifier,
    inner(config) {
      const { width, deviation } = layerOf(config);
      return linearParameters(inner, width, width, deviation);
    },
    transform(builder, config, x) {
      const { dropout } = layerOf(config);
      const read = dropsInput ? builder.dropout(x, dropout) : x;
      return builder.dropout(activate(builder.graph, activation, builder.linear(read, inner)), dropout);
    },
  };
}

export const robertaHead = {
  inner: 'classifier.dense',
  classifier: 'classifier.out_proj',
  activation: 'tanh',
  dropsInput: true,
} as const satisfies InnerHead;
