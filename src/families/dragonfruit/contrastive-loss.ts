import type { PairLoss } from '../../engine/index.js';
import { Graph, type Tensor, type TensorData } from '../../graph/index.js';

/**
 * What cosines are multiplied by before the softmax: the inverse temperature, as in sentence-transformers.
 */
const SCALE = 20;
/** Added to squared norms, so that a vector of zeros isn't divided by 0. */
const TINY = 1e-12;
/** Added to a passage's score, takes it out of the softmax. */
const MASKED = -1e9;

/**
 * Brings every question nearer to its own passage than to any other of the batch: cross-entropy over scaled
 * cosines (Henderson et al. 2017, "Efficient Natural Language Response Suggestion", 4.4; Karpukhin et al.
 * 2020).
 */
export function contrastiveLoss(width: number): PairLoss {
  const graph = new Graph();
  const questions = graph.parameter('questions', ['questions', width]);
  const passages = graph.parameter('passages', ['passages', width]);
  const mask = graph.input('mask', 'float32', ['questions', 'passages']);
  const targets = graph.input('targets', 'float32', ['questions', 'passages']);
  const attributes = { transposeB: true, alpha: SCALE };
  const cosines = graph.gemm(unitRows(graph, questions), unitRows(graph, passages), attributes);
  const terms = graph.multiply(graph.logSoftmax(graph.add(cosines, mask)), targets);
  const loss = graph.scale(graph.reduceSum(terms, [0, 1]), -1);
  return { graph, anchors: questions, candidates: passages, loss };
}

function unitRows(graph: Graph, x: Tensor): Tensor {
  const squares = graph.reduceSum(graph.multiply(x, x), [1], true);
  return graph.divide(x, graph.sqrt(graph.add(squares, graph.constant([TINY], []))));
}

/**
 * One question of a batch: the id of its passage, and those of the passages that it brings into the batch.
 */
export interface ContrastiveExample {
  /** Folded, so that equal texts are the same question. */
  readonly question: string;
  /** The right one first. */
  readonly passages: readonly number[];
}

/**
 * The feeds of the loss for a batch. Another copy of the right passage, or a passage that answers the same
 * question elsewhere in the batch, is not a wrong answer and is masked.
 */
export function contrastiveFeeds(batch: readonly ContrastiveExample[]): Readonly<Record<string, TensorData>> {
  const passages = batch.flatMap((example) => example.passages);
  const dims = [batch.length, passages.length];
  const mask = new Float32Array(batch.length * passages.length);
  const targets = new Float32Array(mask.length);
  const answers = new Map<string, Set<number>>();
  for (const {
    question,
    passages: [right = -1],
  } of batch) {
    answers.set(question, (answers.get(question) ?? new Set()).add(right));
  }
  let own = 0;
  for (const [row, example] of batch.entries()) {
    const right = answers.get(example.question);
    for (const [column, passage] of passages.entries()) {
      if (column !== own && right?.has(passage)) mask[row * passages.length + column] = MASKED;
    }
    targets[row * passages.length + own] = 1 / batch.length;
    own += example.passages.length;
  }
  return {
    mask: { type: 'float32', dims, data: mask },
    targets: { type: 'float32', dims, data: targets },
  };
}
