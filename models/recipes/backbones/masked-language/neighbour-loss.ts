import type { Graph, Tensor, TensorData } from '../../../../src/graph/index.js';

/** Keeps the norm of a zero vector above 0. */
const TINY = 1e-12;
/** Excludes a text from its own softmax. */
const EXCLUDED = -1e9;

/**
 * Contrastive loss: each text's mean hidden state should be closer to its neighbour's than to that of any
 * other text of the batch. Cross-entropy over cosines divided by the temperature (NT-Xent: Chen et al. 2020,
 * eq. 1; with neighbouring spans: Giorgi et al. 2021). Input `averages` [texts, tokens*batch] says of which
 * states each text's vector is the mean, `others` [texts, texts] excludes the text itself, `neighbours`
 * [texts, texts] has each text's weight at its neighbour.
 * @param states [tokens*batch, width].
 */
export function neighbourLoss(graph: Graph, states: Tensor, temperature: number): Tensor {
  const [rows = 1] = states.shape;
  const averages = graph.input('averages', 'float32', ['texts', rows]);
  const others = graph.input('others', 'float32', ['texts', 'texts']);
  const neighbours = graph.input('neighbours', 'float32', ['texts', 'texts']);
  const means = graph.gemm(averages, states);
  const squares = graph.reduceSum(graph.multiply(means, means), [1], true);
  const unit = graph.divide(means, graph.sqrt(graph.add(squares, graph.constant([TINY], []))));
  const cosines = graph.gemm(unit, unit, { transposeB: true, alpha: 1 / temperature });
  const terms = graph.multiply(graph.logSoftmax(graph.add(cosines, others)), neighbours);
  return graph.scale(graph.reduceSum(terms, [0, 1]), -1);
}

/**
 * Inputs of {@link neighbourLoss} for texts of which the first and second are neighbours, the third and
 * fourth, and so on: the mean over the texts, times `weight`.
 * @param lengths tokens of each text.
 */
export function neighbourFeeds(
  lengths: readonly number[],
  weight: number,
): Readonly<Record<string, TensorData>> {
  const texts = lengths.length;
  const columns = texts * Math.max(...lengths);
  const averages = new Float32Array(texts * columns);
  const others = new Float32Array(texts * texts);
  const neighbours = new Float32Array(texts * texts);
  for (const [text, length] of lengths.entries()) {
    for (let token = 0; token < length; token += 1)
      averages[text * columns + token * texts + text] = 1 / length;
    others[text * texts + text] = EXCLUDED;
    const neighbour = text % 2 === 0 ? text + 1 : text - 1;
    neighbours[text * texts + neighbour] = weight / texts;
  }
  return {
    averages: { type: 'float32', dims: [texts, columns], data: averages },
    others: { type: 'float32', dims: [texts, texts], data: others },
    neighbours: { type: 'float32', dims: [texts, texts], data: neighbours },
  };
}
