import type { Graph, Tensor } from '../graph/index.js';

/** What {@link surrogateLoss} is fed: the gradient of the true loss for each output. */
export const OUTPUT_GRADIENTS = 'output_gradients';

/** Σ output · gradient: has the parameter gradients of whatever loss the outputs' gradients were taken of. */
export function surrogateLoss(graph: Graph, outputs: Tensor): Tensor {
  const gradients = graph.input(OUTPUT_GRADIENTS, 'float32', outputs.shape);
  return graph.reduceSum(graph.multiply(outputs, gradients), [0, 1]);
}
