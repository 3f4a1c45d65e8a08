import type { LossTargets } from '../../engine/index.js';
import type { Graph, Tensor, TensorData } from '../../graph/index.js';
import type { ClassWeights } from '../../lexical/index.js';
import { fillTargets } from '../cross-entropy.js';
import type { ClassificationKind, Link } from './classification-dataset.js';

/** What the loss of a classifier compares its logits with. */

/** The outputs that should be on for a row; the one output of a binary model is on for the second label. */
export function activeOutputs(kind: ClassificationKind, labelIds: readonly number[]): readonly number[] {
  if (kind !== 'binary') return labelIds;
  return labelIds.includes(1) ? [0] : [];
}

interface TargetRules {
  readonly link: Link;
  /** Share of a row's target that is spread over all labels evenly (Szegedy et al. 2016). */
  readonly labelSmoothing: number;
  /** For each output. Default: 1 for all. */
  readonly classWeights?: readonly ClassWeights[];
}

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
 * √(mean rows per label / rows of this label). Without the root all labels would count the same, but rare ones would be
 * predicted wrongly far too often. @param active for each row, the outputs that are on
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

/** Weighted binary cross-entropy over every logit: ln(1 + eˣ) − x·target. */
export function sigmoidLoss(graph: Graph, logits: Tensor): Tensor {
  const targets = graph.input('targets', 'float32', logits.shape);
  const weights = graph.input('target_weights', 'float32', logits.shape);
  const terms = graph.subtract(graph.softplus(logits), graph.multiply(logits, targets));
  return graph.reduceSum(graph.multiply(terms, weights), [0, 1]);
}
