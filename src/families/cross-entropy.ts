import type { Graph, Tensor } from '../graph/index.js';

/** Cross-entropy of logits [..., classes]. `targets`, of the same shape, has the share of each row and class, 1 in all. */
export function crossEntropy(graph: Graph, logits: Tensor): Tensor {
  const targets = graph.input('targets', 'float32', logits.shape);
  const terms = graph.multiply(graph.logSoftmax(logits), targets);
  return graph.scale(graph.reduceSum(terms, [...logits.shape.keys()]), -1);
}

interface TargetRow {
  readonly row: number;
  readonly id: number;
  readonly weight: number;
  /** How probable each class is, 1 in all. Default: `id` is certain. [classes] */
  readonly shares?: readonly number[] | undefined;
}

/**
 * Fills the targets of {@link crossEntropy}: a row's sum to its share of `total`. @param targets [rows, classes], 0 at
 * first.
 * @param labelSmoothing share of a row's target that is spread over all classes evenly (Szegedy et al. 2016).
 */
export function fillTargets(
  targets: Float32Array,
  rows: readonly TargetRow[],
  { classes, total, labelSmoothing }: { classes: number; total: number; labelSmoothing: number },
): void {
  for (const { row, id, weight, shares } of rows) {
    const at = row * classes;
    const share = weight / total;
    targets.fill((share * labelSmoothing) / classes, at, at + classes);
    if (shares === undefined) targets[at + id] = share * (1 - labelSmoothing + labelSmoothing / classes);
    else {
      for (const [each, own] of shares.entries()) {
        targets[at + each] = share * (own * (1 - labelSmoothing) + labelSmoothing / classes);
      }
    }
  }
}
