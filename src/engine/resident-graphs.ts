/** The graphs of a training whose tensors stay in an executor's memory: they make their own dropout masks. */
import { type Encoder, type ParameterSpec, trainingInputs } from '../encoder/index.js';
import {
  addGradients,
  Graph,
  mergeDimensions,
  type ParameterGradient,
  type ResidentTensor,
  type RowGradient,
  ShapeError,
  type Tensor,
  type TensorData,
} from '../graph/index.js';
import type { PaddedBatch } from './batches.js';
import { GeneratedDropout } from './generated-dropout.js';
import type { Head, LossHead } from './head.js';
import type { ResidentGradients } from './resident-step.js';
import { gradientOutput, LOGITS, LOSS } from './training-graph.js';

/** Forward pass with dropout. */
export interface ForwardOnDevice {
  readonly graph: Graph;
  readonly dropout: GeneratedDropout;
}

/** Forward pass, loss and backward pass, down to one dense gradient for every parameter. */
export interface TrainingOnDevice extends ForwardOnDevice {
  readonly rowSums: RowSums;
  /** The gradients among the outputs of a run, by parameter name. */
  gradientsIn(outputs: Readonly<Record<string, ResidentTensor>>): ResidentGradients;
}

export function buildResidentTraining(
  head: LossHead,
  encoder: Encoder,
  trainable: readonly ParameterSpec[],
): TrainingOnDevice {
  const { graph, dropout, logits } = forward(head, encoder);
  const loss = head.loss(graph, logits);
  graph.output(LOSS, loss);
  const rowSums = new RowSums(graph);
  const names = new Set(trainable.map(({ name }) => name));
  for (const gradient of addGradients(graph, loss, names)) {
    graph.output(gradientOutput(gradient.parameter.name), rowSums.total(gradient));
  }
  return {
    graph,
    dropout,
    rowSums,
    gradientsIn: (outputs) =>
      new Map(
        [...names].flatMap((name) => {
          const tensor = outputs[gradientOutput(name)];
          return tensor === undefined ? [] : [[name, tensor] as const];
        }),
      ),
  };
}

/** The forward pass alone, with the same masks as in {@link buildResidentTraining}. */
export function buildResidentForward(head: Head, encoder: Encoder): ForwardOnDevice {
  const { graph, dropout, logits } = forward(head, encoder);
  graph.output(LOGITS, logits);
  return { graph, dropout };
}

function forward(head: Head, encoder: Encoder) {
  const graph = new Graph();
  const dropout = new GeneratedDropout(graph);
  const logits = head.logits(graph, encoder, trainingInputs(graph), dropout.apply);
  return { graph, dropout, logits };
}

/** Tables with at most this many rows are compared with the indices row by row. */
const FEW_ROWS = 64;

/**
 * Sums sparse gradients in the graph. The rows of one table entry are picked by a matrix of zeros and ones and added in
 * a matrix product, always in the same order: a scatter with additions would add them in the order in which a device's
 * threads finish, and the same seed would give another training each time.
 */
class RowSums {
  readonly #graph: Graph;
  /** Inputs for the entries that a batch reads, by the name of the indices. */
  readonly #entries = new Map<string, Tensor>();

  constructor(graph: Graph) {
    this.#graph = graph;
  }

  /** The gradient of a parameter as one tensor of its shape. */
  total({ parameter, dense, rows }: ParameterGradient): Tensor {
    const parts = rows.map((each) => this.#sumOf(each, parameter));
    const [first, ...others] = dense === undefined ? parts : [dense, ...parts];
    if (first === undefined) throw new ShapeError(`${parameter.name} has no gradient`);
    return others.reduce((sum, part) => this.#graph.add(sum, part), first);
  }

  /** What to feed a run: the entries that its batch reads, each once. */
  feeds({ feeds }: PaddedBatch): Record<string, TensorData> {
    const fed = Object.entries(feeds).flatMap(([name, feed]) => {
      const input = this.#entries.get(name);
      if (input === undefined || feed.type !== 'int32') return [];
      const data = Int32Array.from(new Set(feed.data)).sort();
      return [[input.name, { type: 'int32', dims: [data.length], data }] as const];
    });
    return Object.fromEntries(fed);
  }

  #sumOf({ rows, indices }: RowGradient, { name, shape }: Tensor): Tensor {
    const graph = this.#graph;
    const [count] = shape;
    if (typeof count !== 'number' || shape.length !== 2 || indices.source.kind !== 'input') {
      throw new ShapeError(`${name}: only the rows of a matrix, read by indices that are fed, can be summed`);
    }
    const read = graph.reshape(indices, [1, mergeDimensions(indices.shape)]);
    const each = graph.flattenRows(rows);
    if (count <= FEW_ROWS) {
      const all = Array.from({ length: count }, (_, row) => row);
      return graph.gemm(graph.equal(graph.constant(all, [count, 1], 'int32'), read), each);
    }
    const entries = this.#entriesOf(indices.name);
    const column = graph.reshape(entries, [...entries.shape, 1]);
    return graph.placeRows(graph.gemm(graph.equal(column, read), each), entries, count);
  }

  #entriesOf(indices: string): Tensor {
    const known = this.#entries.get(indices);
    if (known !== undefined) return known;
    const entries = this.#graph.input(`entries of ${indices}`, 'int32', [`distinct ${indices}`]);
    this.#entries.set(indices, entries);
    return entries;
  }
}
