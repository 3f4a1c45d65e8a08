import type { Tensor } from '../../graph/index.js';
import type { EncoderBuilder } from '../encoder-builder.js';
import { layerNormParameters, linearParameters, type ParameterSpec } from '../parameter.js';
import { type FeedForward, feedForward } from './feed-forward.js';
import { type SelfAttention, selfAttention } from './self-attention.js';

/** Names of a layer's parts, each after the layer's own name and a dot. */
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

/** BERT's, which most others took over. */
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

export interface LayerWidths {
  readonly width: number;
  readonly innerWidth: number;
  /** Standard deviation of new weights. */
  readonly deviation: number;
}

/** The parameters of {@link postNormLayer}. @param layer its own name. */
export function postNormLayerParameters(
  layer: string,
  names: LayerNames,
  { width, innerWidth, deviation }: LayerWidths,
): ParameterSpec[] {
  const name = (part: keyof LayerNames) => `${layer}.${names[part]}`;
  return [
    ...linearParameters(name('query'), width, width, deviation, 'query'),
    ...linearParameters(name('key'), width, width, deviation, 'key'),
    ...linearParameters(name('value'), width, width, deviation, 'value'),
    ...linearParameters(name('attentionOutput'), width, width, deviation, 'attention-output'),
    ...layerNormParameters(name('attentionNorm'), width),
    ...linearParameters(name('inner'), width, innerWidth, deviation, 'inner'),
    ...linearParameters(name('outer'), innerWidth, width, deviation, 'outer'),
    ...layerNormParameters(name('outputNorm'), width),
  ];
}

export interface AfterAttention extends Pick<FeedForward, 'activation'> {
  /** Probability of dropout of what attention and the feed-forward block give. */
  readonly hiddenDropout: number;
  /** That of the feed-forward block, where it differs. */
  readonly outputDropout?: number;
  /** ε of the LayerNorms. */
  readonly epsilon: number;
}

export interface PostNormLayer
  extends AfterAttention,
    Omit<SelfAttention, 'query' | 'key' | 'value' | 'dropout'> {
  readonly attentionDropout: number;
  /** Which tokens' states to compute; `first` gives [batch, width]. */
  readonly states: 'all' | 'first';
}

/**
 * A layer of a Transformer with LayerNorm after each of its two blocks, as BERT has it (Devlin et al. 2019).
 * Shapes: hidden [tokens*batch, width] → the same, or [batch, width].
 */
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

/**
 * What such a layer does after its attention. Shapes: context, which attention gives, and hidden, which the layer reads,
 * [rows, width] → the same.
 */
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
