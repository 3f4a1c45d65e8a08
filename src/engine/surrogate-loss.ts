import type { Graph, Tensor } from '../graph/index.js';
import type { LossHead, PairHead } from './head.js';

/** What {@link surrogateLoss} is fed: the gradient of the true loss for each output. */
export const OUTPUT_GRADIENTS = 'output_gradients';

/** Σ output · gradient: has the parameter gradients of whatever loss the outputs' gradients were taken of. */
function surrogateLoss(graph: Graph, outputs: Tensor): Tensor {
  const gradients = graph.input(OUTPUT_GRADIENTS, 'float32', outputs.shape);
  return graph.reduceSum(graph.multiply(outputs, gradients), [0, 1]);
}

/** A head whose true loss is computed elsewhere, as part of a training graph. */
export function withSurrogateLoss(head: PairHead): LossHead {
  return {
    outputs: (encoder) => head.outputs(encoder),
    logits: (...inputs) => head.logits(...inputs),
    loss: surrogateLoss,
  };
}
