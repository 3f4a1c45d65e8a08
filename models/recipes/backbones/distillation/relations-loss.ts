import type { Graph, Tensor } from '../../../../src/graph/index.js';
import type { Relations } from './courses.js';
import { textMeans } from './text-means.js';

/** Inputs of {@link relationsLoss}, after the relations' name and a space. */
export const relationInputs = {
  averages: 'averages',
  /** 0 for a text's spans, a large negative number for what fills its rows up. */
  bias: 'bias',
  /** What each span's distribution weighs in the loss. */
  weights: 'weights',
  queries: 'queries',
  keys: 'keys',
  values: 'values',
} as const;

/**
 * How much a student relates the spans of a text otherwise than its teacher: the divergence (KL) of its distributions
 * softmax(x·xᵀ/√d) from the teacher's, x being the queries, the keys or the values of one layer cut into so many heads,
 * averaged over spans and heads and summed over the three (MiniLMv2, Wang et al. 2021, eq. 4 and 5). There both read the
 * same tokens; here x is the mean over each span that both tokenizers see, mostly one token on either side.
 * @param parts the student's queries, keys and values, [tokens*batch, hidden] each.
 */
export function relationsLoss(graph: Graph, parts: readonly Tensor[], relations: Relations): Tensor {
  const { name, teacherWidth, heads } = relations;
  const rows = `rows ${name}`;
  const input = (part: string, shape: readonly (string | number)[]) => graph.input(`${name} ${part}`, 'float32', shape);
  const averages = input(relationInputs.averages, ['batch', rows, 'tokens']);
  const bias = input(relationInputs.bias, ['batch', 1, 1, rows]);
  const weights = input(relationInputs.weights, ['batch', 1, rows, 1]);
  const taught = [relationInputs.queries, relationInputs.keys, relationInputs.values].map((part) =>
    input(part, ['batch', rows, teacherWidth]),
  );
  const logRelations = (x: Tensor) => graph.logSoftmax(graph.add(scaledProducts(graph, x, heads), bias));
  const losses = parts.map((part, at) => {
    const target = logRelations(taught[at] ?? part);
    const found = logRelations(textMeans(graph, averages, part));
    const divergence = graph.multiply(graph.exp(target), graph.subtract(target, found));
    return graph.reduceSum(graph.multiply(divergence, weights), [0, 1, 2, 3]);
  });
  return losses.reduce((sum, loss) => graph.add(sum, loss));
}

/** x·xᵀ/√d for each head. Shapes: x [batch, rows, width] → [batch, heads, rows, rows]. */
function scaledProducts(graph: Graph, x: Tensor, heads: number): Tensor {
  const [batch = 'batch', rows = 1, width] = x.shape;
  const headWidth = Number(width) / heads;
  const split = graph.transpose(graph.reshape(x, [batch, rows, heads, headWidth]), [0, 2, 1, 3]);
  return graph.batchMatMul(split, split, { transposeB: true, alpha: 1 / Math.sqrt(headWidth) });
}
