import {
  type Encoder,
  layerNormParameters,
  linearParameters,
  type ParameterSpec,
} from '../../../../src/encoder/index.js';
import type { Graph, Tensor } from '../../../../src/graph/index.js';

/** transformers' names of what BERT's masked-language head has before its softmax. */
const DENSE = 'cls.predictions.transform.dense';
const NORM = 'cls.predictions.transform.LayerNorm';
/** BERT's ε. */
const EPSILON = 1e-12;

export function wordHeadParameters({ width, initializerRange }: Encoder): readonly ParameterSpec[] {
  return [...linearParameters(DENSE, width, width, initializerRange), ...layerNormParameters(NORM, width)];
}

/**
 * The vectors whose products with the word embeddings are the scores of BERT's masked-language head (Devlin et al.
 * 2019): LayerNorm(GELU(linear(states))). Shapes: states [rows, width] → the same.
 */
export function wordHead(graph: Graph, states: Tensor, encoder: Encoder): Tensor {
  const parameters = new Map(
    wordHeadParameters(encoder).map(({ name, shape }) => [name, graph.parameter(name, shape)]),
  );
  const parameter = (name: string): Tensor => {
    const found = parameters.get(name);
    if (found === undefined) throw new Error(`the head has no ${name}`);
    return found;
  };
  const dense = graph.gemm(states, parameter(`${DENSE}.weight`), { transposeB: true }, parameter(`${DENSE}.bias`));
  return graph.layerNorm(graph.gelu(dense), parameter(`${NORM}.weight`), parameter(`${NORM}.bias`), EPSILON);
}
