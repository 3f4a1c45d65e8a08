import { fitLinear, type LinearFit } from '../../../../src/engine/index.js';
import type { Graph, GraphExecutor, Tensor } from '../../../../src/graph/index.js';

/** Row-major vectors of one width, with the class of each. */
export interface Examples {
  readonly width: number;
  readonly vectors: Float32Array;
  /** From 0. */
  readonly classes: readonly number[];
}

/** Weight of half the squared weights beside the sum of all losses: with 1,000 examples of standardized features. */
const PENALTY = 10;

/**
 * Multinomial logistic regression on features that are standardized by the training examples, with an L2 penalty.
 * @returns the class of each vector of `asked`, row-major and as wide.
 */
export async function classifyLinearly(
  executor: GraphExecutor,
  { vectors, width, classes: right }: Examples,
  classes: number,
  asked: Float32Array,
): Promise<number[]> {
  const count = right.length;
  const targets = new Float32Array(count * classes);
  for (const [row, each] of right.entries()) targets[row * classes + each] = 1 / count;
  const feeds = { targets: { type: 'float32' as const, dims: [count, classes], data: targets } };
  const penalty = PENALTY / count;
  const fit = await fitLinear(executor, { vectors, width, outputs: classes, loss, feeds, penalty });
  return bestClasses(asked, fit, width);
}

function loss(graph: Graph, logits: Tensor): Tensor {
  const targets = graph.input('targets', 'float32', logits.shape);
  return graph.scale(graph.reduceSum(graph.multiply(graph.logSoftmax(logits), targets), [0, 1]), -1);
}

function bestClasses(vectors: Float32Array, { weight, bias }: LinearFit, width: number): number[] {
  return Array.from({ length: vectors.length / width }, (_, row) => {
    let [best, highest] = [0, Number.NEGATIVE_INFINITY];
    for (const [each, start] of bias.entries()) {
      let score = start;
      for (let i = 0; i < width; i += 1) {
        score += (weight[each * width + i] ?? 0) * (vectors[row * width + i] ?? 0);
      }
      if (score > highest) [best, highest] = [each, score];
    }
    return best;
  });
}
