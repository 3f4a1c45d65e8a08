import type { LossTargets } from '../../engine/index.js';
import type { Graph, Tensor, TensorData } from '../../graph/index.js';
import type { ClassWeights } from '../../lexical/index.js';
import type { Link } from './link.js';

/** Cross-entropy over the batch; `targets` [batch, outputs] is the share of each row and class, 1 in all. */
function softmaxLoss(graph: Graph, logits: Tensor, targets: Tensor): Tensor {
  const terms = graph.multiply(graph.logSoftmax(logits), targets);
  return graph.scale(graph.reduceSum(terms, [0, 1]), -1);
}

/** Weighted binary cross-entropy over every logit: ln(1 + eˣ) − x·target. */
function sigmoidLoss(graph: Graph, logits: Tensor, targets: Tensor): Tensor {
  const weights = graph.input('target_weights', 'float32', logits.shape);
  const terms = graph.subtract(graph.softplus(logits), graph.multiply(logits, targets));
  return graph.reduceSum(graph.multiply(terms, weights), [0, 1]);
}

/** Adds the loss of a batch to the graph; {@link lossTargets} makes its feeds. */
export function classificationLoss(graph: Graph, logits: Tensor, link: Link): Tensor {
  const targets = graph.input('targets', 'float32', logits.shape);
  return link === 'softmax' ? softmaxLoss(graph, logits, targets) : sigmoidLoss(graph, logits, targets);
}

export interface TargetRules {
  readonly link: Link;
  /** Share of a row's target that is spread over all labels evenly (Szegedy et al. 2016). */
  readonly labelSmoothing: number;
  /** For each output. Default: 1 for all. */
  readonly classWeights?: readonly ClassWeights[];
}

/** @param labels for each row of the batch, the outputs that should be on. */
export function lossTargets(
  labels: readonly (readonly number[])[],
  outputs: number,
  rules: TargetRules,
): LossTargets {
  return rules.link === 'softmax'
    ? classTargets(labels, outputs, rules)
    : yesNoTargets(labels, outputs, rules);
}

/** One class per row: a row's targets sum to its share of the batch's weight. */
function classTargets(
  labels: readonly (readonly number[])[],
  outputs: number,
  { labelSmoothing, classWeights }: TargetRules,
): LossTargets {
  const rowWeights = labels.map(([id = 0]) => classWeights?.[id]?.active ?? 1);
  const weight = rowWeights.reduce((sum, each) => sum + each, 0);
  const targets = new Float32Array(labels.length * outputs);
  for (const [row, ids] of labels.entries()) {
    const share = (rowWeights[row] ?? 1) / weight;
    targets.fill((share * labelSmoothing) / outputs, row * outputs, (row + 1) * outputs);
    for (const id of ids) {
      targets[row * outputs + id] = share * (1 - labelSmoothing + labelSmoothing / outputs);
    }
  }
  return { feeds: { targets: matrix(targets, outputs) }, weight };
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
