import type { Graph, Tensor } from '../graph/index.js';
import type { LossHead, PairHead } from './head.js';

/** Input of {@link surrogateLoss}: the gradient of the true loss with respect to each output. */
export const OUTPUT_GRADIENTS = 'output_gradients';

/** Σ output · gradient: its gradients with respect to the parameters are those of the true loss. */
function surrogateLoss(graph: Graph, outputs: Tensor): Tensor {
  const gradients = graph.input(OUTPUT_GRADIENTS, 'float32', outputs.shape);
  return graph.reduceSum(graph.multiply(outputs, gradients), [0, 1]);
}

/** A head as part of a training graph whose true loss, over the whole batch, is computed elsewhere. */
export function withSurrogateLoss(head: PairHead): LossHead {
  return {
    outputs: (encoder) => head.outputs(encoder),
    logits: (...inputs) => head.logits(...inputs),
    loss: surrogateLoss,
  };
}
