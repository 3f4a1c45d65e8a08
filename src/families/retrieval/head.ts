import {
  type Dropout,
  type Encoder,
  type EncoderInputs,
  type ParameterSpec,
  pooledStates,
} from '../../encoder/index.js';
import type { PairLoss } from '../../engine/index.js';
import { Graph, type Tensor, type TensorData } from '../../graph/index.js';
import type { Bm25Index } from '../../lexical/index.js';
import { isPauseDue, pause } from '../../system/index.js';
import { foldText } from '../row-sets.js';
import type { Question } from './retrieval-dataset.js';

/** None: a bare encoder, as sentence-transformers stores it. */
const ENCODER_PREFIX = '';

export const vectorParameters = (encoder: Encoder): readonly ParameterSpec[] => encoder.parameters(ENCODER_PREFIX);

/** The mean of a text's hidden states. @returns [batch, hidden], not yet of unit length. */
export function pooledVectors(graph: Graph, encoder: Encoder, inputs: EncoderInputs, dropout: Dropout): Tensor {
  return pooledStates(graph, encoder, inputs, {
    prefix: ENCODER_PREFIX,
    dropout,
    pooling: 'mean',
    differentiable: true,
  });
}

/**
 * All hidden states, which sentence-transformers and transformers.js pool themselves.
 * @returns [batch, tokens, hidden].
 */
export function tokenStates(graph: Graph, encoder: Encoder, inputs: EncoderInputs): Tensor {
  const states = encoder.states(graph, inputs, { prefix: ENCODER_PREFIX });
  const byToken = graph.reshape(states, ['tokens', 'batch', encoder.width]);
  return graph.transpose(byToken, [1, 0, 2]);
}

/** What cosines are multiplied by before the softmax: the inverse temperature, as in sentence-transformers. */
const SCALE = 20;
/** Added to squared norms, so that a vector of zeros isn't divided by 0. */
const TINY = 1e-12;
/** Added to a passage's score, takes it out of the softmax. */
const MASKED = -1e9;

/**
 * Brings every question nearer to its own passage than to any other of the batch: cross-entropy over scaled cosines
 * (Henderson et al. 2017, "Efficient Natural Language Response Suggestion", 4.4; Karpukhin et al. 2020).
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

/** One question of a batch: the id of its passage, and those of the passages that it brings into the batch. */
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

interface HardNegativeOptions {
  /** Most negatives of a question. */
  readonly count: number;
  readonly signal?: AbortSignal;
}

/**
 * For every question, the passages that BM25 takes for answers although they aren't, best first. Its own
 * passage, any that answers the same question elsewhere, and copies of these (case and spacing aside) are
 * left out. There are fewer than `count` if fewer passages share a word with the question.
 * @param index of the passages.
 * @throws AbortedError soon after the signal fires.
 */
export async function mineHardNegatives(
  passages: readonly string[],
  questions: readonly Question[],
  index: Bm25Index,
  { count, signal }: HardNegativeOptions,
): Promise<readonly (readonly number[])[]> {
  await pause(signal);
  const answers = new AnswerTable(passages, questions);
  const negatives: number[][] = [];
  for (const question of questions) {
    if (isPauseDue()) await pause(signal);
    const right = answers.of(question);
    const found = index.search(question.question, count + right.size).map(({ id }) => id);
    negatives.push(found.filter((id) => !right.has(id)).slice(0, count));
  }
  return negatives;
}

/** Which passages answer a question. */
class AnswerTable {
  /** Ids of the passages with the same folded text, by that text. */
  readonly #copies = new Map<string, number[]>();
  /** Folded texts of the passages that answer a question, by the folded question. */
  readonly #answers = new Map<string, Set<string>>();

  constructor(passages: readonly string[], questions: readonly Question[]) {
    const folded = passages.map(foldText);
    for (const [id, text] of folded.entries()) {
      const copies = this.#copies.get(text);
      if (copies) copies.push(id);
      else this.#copies.set(text, [id]);
    }
    for (const { question, passage } of questions) {
      const key = foldText(question);
      const answer = folded[passage] ?? '';
      const answers = this.#answers.get(key);
      if (answers) answers.add(answer);
      else this.#answers.set(key, new Set([answer]));
    }
  }

  of({ question }: Question): ReadonlySet<number> {
    const answers = this.#answers.get(foldText(question)) ?? [];
    return new Set([...answers].flatMap((text) => this.#copies.get(text) ?? []));
  }
}
