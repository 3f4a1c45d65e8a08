import { setImmediate as nextTurn } from 'node:timers/promises';
import { AbortedError } from '../errors.js';
import {
  addGradients,
  type CompiledGraph,
  Graph,
  type GraphExecutor,
  type Tensor,
  type TensorData,
} from '../graph/index.js';
import { minimize, type Slope } from './minimize.js';

/** What a linear layer is fitted to. */
export interface LinearProblem {
  /** What it reads: [rows, width], row-major. */
  readonly vectors: Float32Array;
  readonly width: number;
  readonly outputs: number;
  /** Adds the loss of all rows, a scalar, to a graph with their logits [rows, outputs]. */
  loss(graph: Graph, logits: Tensor): Tensor;
  /** Inputs of the loss. */
  readonly feeds: Readonly<Record<string, TensorData>>;
  /** Weight of half the squared weights beside the loss. */
  readonly penalty: number;
}

/** The layer vectors·weightᵀ + bias. */
export interface LinearFit {
  /** [outputs, width], row-major. */
  readonly weight: Float32Array;
  /** [outputs] */
  readonly bias: Float32Array;
}

const SEARCH = { steps: 150, tolerance: 1e-5 };

/**
 * Fits a linear layer: what lowers the loss most, with an L2 penalty on its weights, each feature being brought to mean 0
 * and variance 1 for the purpose. The layer that comes back reads the vectors as they are.
 * @throws AbortedError soon after the signal fires
 */
export async function fitLinear(
  executor: GraphExecutor,
  problem: LinearProblem,
  signal?: AbortSignal,
): Promise<LinearFit> {
  const { outputs, width } = problem;
  const scaling = standardization(problem);
  const search = new Search(await executor.compile(lossGraph(problem)), problem, scaling);
  const weights = new Float64Array(outputs * (width + 1));
  try {
    const slope = async (point: Float64Array) => {
      await nextTurn(); // a request to stop only arrives when the event loop turns
      if (signal?.aborted) throw new AbortedError('the training');
      return search.slope(point);
    };
    await minimize(slope, weights, SEARCH);
  } finally {
    await search.release();
  }
  return unscaled(weights, problem, scaling);
}

/** The penalised loss as a function of all weights: [outputs, width], then a bias an output. */
class Search {
  readonly #compiled: CompiledGraph;
  readonly #problem: LinearProblem;
  readonly #vectors: TensorData;

  constructor(compiled: CompiledGraph, problem: LinearProblem, scaling: Scaling) {
    const { vectors, width } = problem;
    this.#compiled = compiled;
    this.#problem = problem;
    this.#vectors = matrix(scaled(vectors, scaling), width);
  }

  async slope(point: Float64Array): Promise<Slope> {
    const floats = Float32Array.from(point);
    const loss = new Float32Array(1);
    const gradient = new Float32Array(point.length);
    const [at, slopes] = [this.#parts(floats), this.#parts(gradient)];
    await this.#compiled.run(
      { ...this.#problem.feeds, vectors: this.#vectors, ...at },
      {
        loss: { type: 'float32', dims: [], data: loss },
        'd weight': slopes.weight,
        'd bias': slopes.bias,
      },
    );
    return { value: loss[0] ?? Number.NaN, gradient: Float64Array.from(gradient) };
  }

  #parts(all: Float32Array) {
    const { outputs, width } = this.#problem;
    const bias: TensorData = { type: 'float32', dims: [outputs], data: all.subarray(outputs * width) };
    return { weight: matrix(all.subarray(0, outputs * width), width), bias };
  }

  release(): Promise<void> {
    return this.#compiled.release();
  }
}

function matrix(data: Float32Array, columns: number): TensorData {
  return { type: 'float32', dims: [data.length / columns, columns], data };
}

function lossGraph({ width, outputs, loss: lossOf, penalty }: LinearProblem): Graph {
  const graph = new Graph();
  const vectors = graph.input('vectors', 'float32', ['batch', width]);
  const weight = graph.parameter('weight', [outputs, width]);
  const bias = graph.parameter('bias', [outputs]);
  const logits = graph.gemm(vectors, weight, { transposeB: true }, bias);
  const squares = graph.reduceSum(graph.multiply(weight, weight), [0, 1]);
  const loss = graph.add(lossOf(graph, logits), graph.scale(squares, penalty / 2));
  graph.output('loss', loss);
  for (const { parameter, dense } of addGradients(graph, loss)) {
    if (dense) graph.output(`d ${parameter.name}`, dense);
  }
  return graph;
}

interface Scaling {
  readonly mean: Float64Array;
  readonly factor: Float64Array;
}

/** Features with less than this share of the mean variance never vary but by rounding. */
const LEAST_VARIANCE = 1e-6;

/** A feature that never varies is left at 0. */
function standardization({ vectors, width }: Pick<LinearProblem, 'vectors' | 'width'>): Scaling {
  const count = vectors.length / width;
  const [mean, squares] = [new Float64Array(width), new Float64Array(width)];
  for (const [at, value] of vectors.entries()) {
    mean[at % width] = (mean[at % width] ?? 0) + value / count;
    squares[at % width] = (squares[at % width] ?? 0) + value ** 2 / count;
  }
  const variance = squares.map((each, i) => each - (mean[i] ?? 0) ** 2);
  const least = (LEAST_VARIANCE / width) * variance.reduce((sum, each) => sum + each, 0);
  const factor = variance.map((each) => (each > least ? 1 / Math.sqrt(each) : 0));
  return { mean, factor };
}

function scaled(vectors: Float32Array, { mean, factor }: Scaling): Float32Array {
  const { length: width } = mean;
  return vectors.map((value, at) => (value - (mean[at % width] ?? 0)) * (factor[at % width] ?? 0));
}

/** The layer that gives for the vectors what the one found gives for the scaled ones. */
function unscaled(
  weights: Float64Array,
  { outputs, width }: Pick<LinearProblem, 'outputs' | 'width'>,
  { mean, factor }: Scaling,
): LinearFit {
  const weight = new Float32Array(outputs * width);
  const bias = Float64Array.from(weights.subarray(outputs * width));
  for (let at = 0; at < weight.length; at += 1) {
    const [output, feature] = [Math.floor(at / width), at % width];
    const value = (weights[at] ?? 0) * (factor[feature] ?? 0);
    weight[at] = value;
    bias[output] = (bias[output] ?? 0) - value * (mean[feature] ?? 0);
  }
  return { weight, bias: Float32Array.from(bias) };
}
