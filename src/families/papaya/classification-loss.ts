import type { Graph, Tensor, TensorData } from '../../graph/index.js';
import type { LossTargets } from '../family.js';

/**
 * How logits are read. `softmax`: one class of several. `sigmoid`: each logit says yes or no by itself, which
 * is a multilabel model, or a binary one with its single logit.
 */
export type Link = 'softmax' | 'sigmoid';

/** Mean cross-entropy over the batch; `targets` [batch, outputs] are the shares of each class. */
function softmaxLoss(graph: Graph, logits: Tensor, targets: Tensor): Tensor {
  const terms = graph.multiply(graph.logSoftmax(logits), targets);
  return graph.scale(graph.reduceSum(terms, [0, 1]), -1);
}

/** Mean binary cross-entropy over every logit: ln(1 + eˣ) − x·target. */
function sigmoidLoss(graph: Graph, logits: Tensor, targets: Tensor): Tensor {
  const share = graph.input('target_share', 'float32', []);
  const terms = graph.subtract(graph.softplus(logits), graph.multiply(logits, targets));
  return graph.multiply(graph.reduceSum(terms, [0, 1]), share);
}

/** Adds the loss of a batch to the graph; it is fed what {@link lossTargets} gives. */
export function classificationLoss(graph: Graph, logits: Tensor, link: Link): Tensor {
  const targets = graph.input('targets', 'float32', logits.shape);
  return link === 'softmax' ? softmaxLoss(graph, logits, targets) : sigmoidLoss(graph, logits, targets);
}

/** @param labels for each row of the batch, the outputs that should be on. */
export function lossTargets(
  labels: readonly (readonly number[])[],
  outputs: number,
  link: Link,
): LossTargets {
  const rows = labels.length;
  const values = new Float32Array(rows * outputs);
  const on = link === 'softmax' ? 1 / rows : 1;
  for (const [row, ids] of labels.entries()) for (const id of ids) values[row * outputs + id] = on;
  const targets: TensorData = { type: 'float32', dims: [rows, outputs], data: values };
  if (link === 'softmax') return { feeds: { targets }, weight: rows };
  const share = Float32Array.of(1 / values.length);
  return { feeds: { targets, target_share: { type: 'float32', dims: [], data: share } }, weight: rows };
}
