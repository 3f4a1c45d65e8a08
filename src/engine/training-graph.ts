import { type Encoder, type GraphForm, trainingInputs } from '../encoder/index.js';
import { addGradients, Graph, type ParameterGradient, type Tensor } from '../graph/index.js';
import type { Head, LossHead } from './head.js';

interface DropoutSite {
  readonly mask: Tensor;
  readonly probability: number;
}

export interface TrainingGraph {
  readonly graph: Graph;
  readonly gradients: readonly ParameterGradient[];
  readonly dropouts: readonly DropoutSite[];
  /** Sparse gradients by the name of the output that holds their rows. */
  readonly rowOutputs: ReadonlyMap<string, Tensor>;
}

export const LOSS = 'loss';
/** Name of the output that holds the logits of an evaluation graph. */
export const LOGITS = 'logits';

export const gradientOutput = (parameter: string): string => `gradient ${parameter}`;

/** One output per distinct tensor of rows: the sparse gradients of the embedding tables share theirs. */
export const rowsOutput = (rows: Tensor): string => `rows ${rows.name}`;

/** Compiled once for all batch shapes. @param trainable parameters to compute gradients for. Default: all. */
export function buildTrainingGraph(head: LossHead, encoder: Encoder, trainable?: ReadonlySet<string>): TrainingGraph {
  const { graph, dropouts, logits } = forwardWithDropout(head, encoder);
  const loss = head.loss(graph, logits);
  graph.output(LOSS, loss);
  const gradients = addGradients(graph, loss, trainable);
  const rowOutputs = new Map<string, Tensor>();
  for (const { parameter, dense, rows } of gradients) {
    if (dense !== undefined) graph.output(gradientOutput(parameter.name), dense);
    for (const each of rows) rowOutputs.set(rowsOutput(each.rows), each.rows);
  }
  for (const [name, rows] of rowOutputs) graph.output(name, rows);
  return { graph, gradients, dropouts, rowOutputs };
}

/** The forward pass alone, with dropout at the same sites as in {@link buildTrainingGraph}. */
export function buildForwardGraph(head: Head, encoder: Encoder): Graph {
  const { graph, logits } = forwardWithDropout(head, encoder);
  graph.output(LOGITS, logits);
  return graph;
}

/** Masks come from a seeded stream outside the graph, so that training can be repeated and resumed. */
function forwardWithDropout(head: Head, encoder: Encoder) {
  const graph = new Graph();
  const dropouts: DropoutSite[] = [];
  const logits = head.logits(graph, encoder, trainingInputs(graph), (x, probability) => {
    if (probability === 0) return x;
    const mask = graph.input(`dropout.${dropouts.length}`, 'float32', x.shape);
    dropouts.push({ mask, probability });
    return graph.multiply(x, mask);
  });
  return { graph, dropouts, logits };
}

/** The forward pass alone, without dropout. @param form Default: that of {@link buildTrainingGraph}. */
export function buildEvaluationGraph(head: Head, encoder: Encoder, form?: GraphForm): Graph {
  const graph = new Graph();
  const logits = head.logits(graph, encoder, trainingInputs(graph, form), (x) => x);
  graph.output(LOGITS, logits);
  return graph;
}
