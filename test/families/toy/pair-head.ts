import {
  type Dropout,
  type Encoder,
  type EncoderInputs,
  linearParameters,
  pooledStates,
} from '../../../src/encoder/index.js';
import type { RowHead } from '../../../src/engine/index.js';
import type { Graph, Tensor, TensorData } from '../../../src/graph/index.js';

const CLASSIFIER = 'similarity';

/** One logit from the mean over both texts' tokens. @returns [batch, 1] */
export function pairLogits(graph: Graph, encoder: Encoder, inputs: EncoderInputs, dropout?: Dropout): Tensor {
  const pooled = pooledStates(graph, encoder, inputs, {
    prefix: '',
    dropout: dropout ?? ((x) => x),
    pooling: 'mean',
    differentiable: dropout !== undefined,
  });
  const weight = graph.parameter(`${CLASSIFIER}.weight`, [1, encoder.width]);
  return graph.gemm(pooled, weight, { transposeB: true }, graph.parameter(`${CLASSIFIER}.bias`, [1]));
}

/** @param targets of the training rows: 1 for similar texts, else 0. */
export function pairHead(targets: readonly number[]): RowHead {
  return {
    kind: 'rows',
    per: 'text',
    outputs: () => 1,
    parameters: (encoder) => [
      ...encoder.parameters(''),
      ...linearParameters(CLASSIFIER, encoder.width, 1, encoder.initializerRange),
    ],
    logits: pairLogits,
    loss(graph, logits) {
      const wanted = graph.input('targets', 'float32', logits.shape);
      const shares = graph.input('shares', 'float32', logits.shape);
      const terms = graph.subtract(graph.softplus(logits), graph.multiply(logits, wanted));
      return graph.reduceSum(graph.multiply(terms, shares), [0, 1]);
    },
    targets(batch) {
      const column = (data: Float32Array): TensorData => ({ type: 'float32', dims: [batch.length, 1], data });
      const wanted = Float32Array.from(batch, ({ row }) => targets[row] ?? 0);
      const shares = new Float32Array(batch.length).fill(1 / batch.length);
      return { feeds: { targets: column(wanted), shares: column(shares) }, weight: batch.length };
    },
  };
}
