import { type Encoder, linearParameters, type ParameterSpec } from '../../../../src/encoder/index.js';
import type { LossHead } from '../../../../src/engine/index.js';
import type { Graph, Tensor, TensorData } from '../../../../src/graph/index.js';
import { ENCODER_PREFIX } from '../student/objective.js';
import type { TextTargets } from './target-shard.js';

const PROJECTION = 'projection';
/** Keeps the norm of a zero vector above 0. */
const TINY = 1e-12;

/** The encoder's parameters, and those of the projection that is dropped after training. */
export function distillationParameters(encoder: Encoder, teacherWidth: number): readonly ParameterSpec[] {
  const { width, initializerRange } = encoder;
  return [
    ...encoder.parameters(ENCODER_PREFIX),
    ...linearParameters(PROJECTION, width, teacherWidth, initializerRange),
  ];
}

/** Weights of the losses of a batch; they add up to 1. */
export interface LossShares {
  /** The spans have the rest. */
  readonly sentence: number;
}

/**
 * Trains the student's hidden states, averaged over each passage and each span and projected to the teacher's
 * width by one linear layer, to point in the directions of the teacher's: the loss is the weighted mean of 1
 * − cosine.
 */
export function distillationHead(teacherWidth: number): LossHead {
  return {
    outputs: ({ width }) => width,
    logits: (graph, encoder, inputs, dropout) =>
      encoder.states(graph, inputs, { prefix: ENCODER_PREFIX, dropout }),
    loss: (graph, states) => distillationLoss(graph, states, teacherWidth),
  };
}

/**
 * The loss over the inputs `averages` [vectors, tokens*batch], which says of which hidden states each vector
 * is the mean, and `targets` [vectors, width], the teacher's vectors, each of the length of its weight; the
 * weights add up to 1.
 * @param states [tokens*batch, hidden].
 */
export function distillationLoss(graph: Graph, states: Tensor, teacherWidth: number): Tensor {
  const [rows = 1, hidden = 1] = states.shape;
  const averages = graph.input('averages', 'float32', ['vectors', rows]);
  const targets = graph.input('targets', 'float32', ['vectors', teacherWidth]);
  const weight = graph.parameter(`${PROJECTION}.weight`, [teacherWidth, hidden]);
  const bias = graph.parameter(`${PROJECTION}.bias`, [teacherWidth]);
  const means = graph.gemm(averages, states);
  const projected = graph.gemm(means, weight, { transposeB: true }, bias);
  const squares = graph.reduceSum(graph.multiply(projected, projected), [1], true);
  const unit = graph.divide(projected, graph.sqrt(graph.add(squares, graph.constant([TINY], []))));
  const agreement = graph.reduceSum(graph.multiply(unit, targets), [0, 1]);
  return graph.subtract(graph.constant([1], []), agreement);
}

/** Inputs of {@link distillationLoss} for some passages, padded to the longest. */
export function distillationFeeds(
  all: readonly TextTargets[],
  teacherWidth: number,
  { sentence }: LossShares,
): Readonly<Record<string, TensorData>> {
  const spanCount = all.reduce((sum, { spans }) => sum + spans.length, 0);
  const columns = all.length * all.reduce((longest, { ids }) => Math.max(longest, ids.length), 0);
  const vectors = all.length + spanCount;
  const averages = new Float32Array(vectors * columns);
  const targets = new Float32Array(vectors * teacherWidth);
  let vector = 0;
  for (const [place, text] of all.entries()) {
    const ranges = [{ start: 0, end: text.ids.length }, ...text.spans];
    for (const [at, { start, end }] of ranges.entries()) {
      const share = 1 / (end - start);
      for (let token = start; token < end; token += 1) {
        averages[vector * columns + token * all.length + place] = share;
      }
      const codes = text.vectors.subarray(at * teacherWidth, (at + 1) * teacherWidth);
      const weight = at === 0 ? sentence / all.length : (1 - sentence) / spanCount;
      scaleTo(codes, weight, targets.subarray(vector * teacherWidth, (vector + 1) * teacherWidth));
      vector += 1;
    }
  }
  return {
    averages: { type: 'float32', dims: [vectors, columns], data: averages },
    targets: { type: 'float32', dims: [vectors, teacherWidth], data: targets },
  };
}

/** Writes the vector with the direction of the codes and this length. */
function scaleTo(codes: Int8Array, length: number, target: Float32Array): void {
  let squares = 0;
  for (let i = 0; i < codes.length; i += 1) squares += (codes[i] ?? 0) ** 2;
  if (squares === 0) return;
  const scale = length / Math.sqrt(squares);
  for (let i = 0; i < codes.length; i += 1) target[i] = (codes[i] ?? 0) * scale;
}
