import {
  type Dropout,
  type Encoder,
  type EncoderInputs,
  linearParameters,
  NO_DROPOUT,
  type ParameterSpec,
  type Pooling,
  pooledStates,
} from '../../encoder/index.js';
import type { LinearEnd, LossTargets } from '../../engine/index.js';
import type { Graph, Tensor, TensorData } from '../../graph/index.js';
import type { ClassWeights } from '../../lexical/index.js';
import { crossEntropy, fillTargets } from '../cross-entropy.js';
import type { Link } from './classification-dataset.js';

/** The linear layer over the mean of the states. */
const CLASSIFIER = 'classifier';

/** How a classifier is built on the encoder. */
export interface ClassifierShape {
  readonly outputs: number;
  /** `first`: the first token through the encoder's own head, as transformers has it. `mean`: a linear layer alone. */
  readonly pooling: Pooling;
}

/** The encoder's parameters and the head's, by transformers' names. */
export function classifierParameters(
  encoder: Encoder,
  { outputs, pooling }: ClassifierShape,
): readonly ParameterSpec[] {
  const { width, initializerRange, prefix } = encoder;
  const head =
    pooling === 'first'
      ? encoder.textHead.parameters(outputs)
      : linearParameters(CLASSIFIER, width, outputs, initializerRange);
  return [...encoder.parameters(prefix), ...head];
}

/** What {@link classifierLogits} ends with where it pools by the mean. */
export function classifierEnd(lossesPerRow: number): LinearEnd {
  return {
    weight: `${CLASSIFIER}.weight`,
    bias: `${CLASSIFIER}.bias`,
    lossesPerRow,
    states: (graph, encoder, inputs) => pooled(graph, encoder, inputs, 'mean'),
  };
}

/** Encoder, pooling and head. @returns logits [batch, outputs]. */
export function classifierLogits(
  graph: Graph,
  encoder: Encoder,
  inputs: EncoderInputs,
  { outputs, pooling }: ClassifierShape,
  dropout?: Dropout,
): Tensor {
  const drop = dropout ?? NO_DROPOUT;
  const read = pooled(graph, encoder, inputs, pooling, dropout);
  if (pooling === 'first') return encoder.textHead.logits(graph, read, outputs, drop);
  const weight = graph.parameter(`${CLASSIFIER}.weight`, [outputs, encoder.width]);
  const bias = graph.parameter(`${CLASSIFIER}.bias`, [outputs]);
  return graph.gemm(drop(read, encoder.headDropout), weight, { transposeB: true }, bias);
}

/** The states of each text as one: [batch, width]. */
function pooled(graph: Graph, encoder: Encoder, inputs: EncoderInputs, pooling: Pooling, dropout?: Dropout): Tensor {
  return pooledStates(graph, encoder, inputs, {
    prefix: encoder.prefix,
    dropout: dropout ?? NO_DROPOUT,
    pooling,
    differentiable: dropout !== undefined,
  });
}

/** Weighted binary cross-entropy over every logit: ln(1 + eˣ) − x·target. */
function sigmoidLoss(graph: Graph, logits: Tensor): Tensor {
  const targets = graph.input('targets', 'float32', logits.shape);
  const weights = graph.input('target_weights', 'float32', logits.shape);
  const terms = graph.subtract(graph.softplus(logits), graph.multiply(logits, targets));
  return graph.reduceSum(graph.multiply(terms, weights), [0, 1]);
}

/** Adds the loss of a batch to the graph; {@link lossTargets} makes its feeds. */
export function classificationLoss(graph: Graph, logits: Tensor, link: Link): Tensor {
  return link === 'softmax' ? crossEntropy(graph, logits) : sigmoidLoss(graph, logits);
}

interface TargetRules {
  readonly link: Link;
  /** Share of a row's target that is spread over all labels evenly (Szegedy et al. 2016). */
  readonly labelSmoothing: number;
  /** For each output. Default: 1 for all. */
  readonly classWeights?: readonly ClassWeights[];
}

/** @param labels for each row of the batch, the outputs that should be on. */
export function lossTargets(labels: readonly (readonly number[])[], outputs: number, rules: TargetRules): LossTargets {
  return rules.link === 'softmax' ? classTargets(labels, outputs, rules) : yesNoTargets(labels, outputs, rules);
}

/** One class per row: a row's targets sum to its share of the batch's weight. */
function classTargets(
  labels: readonly (readonly number[])[],
  outputs: number,
  { labelSmoothing, classWeights }: TargetRules,
): LossTargets {
  const rows = labels.map(([id = 0], row) => ({ row, id, weight: classWeights?.[id]?.active ?? 1 }));
  const total = rows.reduce((sum, { weight }) => sum + weight, 0);
  const targets = new Float32Array(labels.length * outputs);
  fillTargets(targets, rows, { classes: outputs, total, labelSmoothing });
  return { feeds: { targets: matrix(targets, outputs) }, weight: total };
}

/** Any number of classes per row: a yes or no for each output, and its weight in the batch. */
function yesNoTargets(
  labels: readonly (readonly number[])[],
  outputs: number,
  { labelSmoothing, classWeights }: TargetRules,
): LossTargets {
  const count = labels.length * outputs;
  const targets = new Float32Array(count).fill(labelSmoothing / 2);
  const weights = Float32Array.from(
    { length: count },
    (_, at) => (classWeights?.[at % outputs]?.inactive ?? 1) / count,
  );
  for (const [row, ids] of labels.entries()) {
    for (const id of ids) {
      targets[row * outputs + id] = 1 - labelSmoothing / 2;
      weights[row * outputs + id] = (classWeights?.[id]?.active ?? 1) / count;
    }
  }
  const feeds = { targets: matrix(targets, outputs), target_weights: matrix(weights, outputs) };
  return { feeds, weight: labels.length };
}

function matrix(data: Float32Array, columns: number): TensorData {
  return { type: 'float32', dims: [data.length / columns, columns], data };
}

/** Rows of a rare label count at most this many times. */
const MAX_WEIGHT = 10;

/**
 * Weights that raise rare labels: √(mean rows per label / rows of this label). Without the root all labels would count
 * the same, but rare ones would be predicted wrongly far too often. Rows without the label keep weight 1.
 * @param active for each row, the outputs that are on.
 */
export function balancedWeights(active: readonly (readonly number[])[], outputs: number): ClassWeights[] {
  const rows = new Float64Array(outputs);
  for (const ids of active) for (const id of ids) rows[id] = (rows[id] ?? 0) + 1;
  const mean = rows.reduce((sum, each) => sum + each, 0) / outputs;
  return Array.from(rows, (count) => ({
    active: Math.min(MAX_WEIGHT, Math.sqrt(mean / Math.max(1, count))),
    inactive: 1,
  }));
}
