import type { Tensor } from '../../graph/index.js';
import type { EncoderBuilder } from '../encoder-builder.js';
import type { EncoderInputs } from '../encoder-inputs.js';

/** Cosines and sines of the angles by which a head's numbers are turned, [tokens, 1, 1, half a head] each. */
export interface Rotation {
  readonly cos: Tensor;
  readonly sin: Tensor;
}

export interface Angles {
  /** Numbers of a head, even. */
  readonly width: number;
  /** How slowly the last pairs of a head's numbers are turned. */
  readonly theta: number;
  /** Most tokens of a sequence. */
  readonly longest: number;
}

/**
 * The angles of rotary positions (Su et al. 2021, equation 15): position / theta^(2i / width) for pair i, in float32 as
 * transformers computes them. Their cosines and sines are tables, since GPUs compute cosines of large angles coarsely.
 */
export function rotation(
  { graph }: EncoderBuilder,
  inputs: EncoderInputs,
  { width, theta, longest }: Angles,
): Rotation {
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

/**
 * The attention bias with a window: each token attends to those at most `reach` tokens before or after it.
 * @returns [batch, 1, tokens, tokens].
 */
export function windowBias({ graph }: EncoderBuilder, inputs: EncoderInputs, reach: number): Tensor {
  const positions = graph.cast(inputs.positions(), 'float32');
  const away = graph.subtract(
    graph.reshape(positions, ['tokens', 1]),
    graph.reshape(positions, [1, 'tokens']),
  );
  const isOutside = graph.greater(graph.multiply(away, away), graph.constant([reach ** 2], []));
  return graph.add(inputs.attentionBias, graph.scale(isOutside, inputs.maskedBias));
}

export interface RotaryAttention {
  /** Name of the linear layer that gives queries, keys and values side by side. */
  readonly name: string;
  readonly heads: number;
  /** Of a hidden state, all heads together. */
  readonly width: number;
  /** Probability of dropout of attention weights. */
  readonly dropout: number;
  readonly rotation: Rotation;
  /** Added to the scores, broadcast to [batch, heads, tokens, tokens]. */
  readonly bias: Tensor;
}

/**
 * Attention whose queries and keys are turned by angles that grow with their positions, so that a score depends on
 * their distance. Shapes: hidden [tokens*batch, width] → the same.
 */
export function rotaryAttention(
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

/** Axes of [tokens, batch, heads, width of a head]. */
const HEADS = 2;
const WITHIN_HEAD = 3;

/** Number i of a head's first half and of its second make up a pair, which is turned by angle i. */
function turned({ graph }: EncoderBuilder, x: Tensor, { cos, sin }: Rotation): Tensor {
  const width = Number(x.shape[WITHIN_HEAD]);
  const first = graph.slice(x, WITHIN_HEAD, 0, width / 2);
  const second = graph.slice(x, WITHIN_HEAD, width / 2, width);
  const turnedFirst = graph.subtract(graph.multiply(first, cos), graph.multiply(second, sin));
  const turnedSecond = graph.add(graph.multiply(second, cos), graph.multiply(first, sin));
  return graph.concat([turnedFirst, turnedSecond], WITHIN_HEAD);
}
