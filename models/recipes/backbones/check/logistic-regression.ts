import {
  addGradients,
  type CompiledGraph,
  Graph,
  type GraphExecutor,
  type TensorData,
} from '../../../../src/graph/index.js';
import { minimize, type Slope } from './minimize.js';

/** Row-major vectors of one width, with the class of each. */
export interface Examples {
  readonly width: number;
  readonly vectors: Float32Array;
  /** From 0. */
  readonly classes: readonly number[];
}

/** Weight of half the squared weights beside the sum of all losses: with 1,000 examples of standardised features. */
const PENALTY = 10;
const SEARCH = { steps: 150, tolerance: 1e-5 };

/**
 * Multinomial logistic regression on features that are standardised by the training examples, with an L2 penalty.
 * @returns the class of each vector of `asked`, row-major and as wide.
 */
export async function classifyLinearly(
  executor: GraphExecutor,
  train: Examples,
  classes: number,
  asked: Float32Array,
): Promise<number[]> {
  const { width } = train;
  const scaling = standardization(train);
  const problem = await Problem.create(
    executor,
    { ...train, vectors: scaled(train.vectors, scaling) },
    classes,
  );
  const weights = new Float64Array(classes * (width + 1));
  await minimize((point) => problem.slope(point), weights, SEARCH);
  await problem.release();
  return bestClasses(scaled(asked, scaling), weights, width, classes);
}

/** The penalised loss as a function of all weights: [classes, width], then a bias a class. */
class Problem {
  private constructor(
    private readonly compiled: CompiledGraph,
    private readonly feeds: Readonly<Record<string, TensorData>>,
    private readonly classes: number,
    private readonly width: number,
  ) {}

  static async create(executor: GraphExecutor, examples: Examples, classes: number): Promise<Problem> {
    const { width, vectors, classes: right } = examples;
    const count = right.length;
    const targets = new Float32Array(count * classes);
    for (const [row, each] of right.entries()) targets[row * classes + each] = 1 / count;
    const feeds: Record<string, TensorData> = {
      vectors: { type: 'float32', dims: [count, width], data: vectors },
      targets: { type: 'float32', dims: [count, classes], data: targets },
    };
    const compiled = await executor.compile(lossGraph(width, classes, PENALTY / count));
    return new Problem(compiled, feeds, classes, width);
  }

  async slope(point: Float64Array): Promise<Slope> {
    const { classes, width } = this;
    const split = classes * width;
    const floats = Float32Array.from(point);
    const loss = new Float32Array(1);
    const gradient = new Float32Array(point.length);
    const weights = (all: Float32Array): TensorData => ({
      type: 'float32',
      dims: [classes, width],
      data: all.subarray(0, split),
    });
    const bias = (all: Float32Array): TensorData => ({
      type: 'float32',
      dims: [classes],
      data: all.subarray(split),
    });
    await this.compiled.run(
      { ...this.feeds, weight: weights(floats), bias: bias(floats) },
      {
        loss: { type: 'float32', dims: [], data: loss },
        'd weight': weights(gradient),
        'd bias': bias(gradient),
      },
    );
    return { value: loss[0] ?? Number.NaN, gradient: Float64Array.from(gradient) };
  }

  release(): Promise<void> {
    return this.compiled.release();
  }
}

function lossGraph(width: number, classes: number, penalty: number): Graph {
  const graph = new Graph();
  const vectors = graph.input('vectors', 'float32', ['examples', width]);
  const targets = graph.input('targets', 'float32', ['examples', classes]);
  const weight = graph.parameter('weight', [classes, width]);
  const bias = graph.parameter('bias', [classes]);
  const logits = graph.gemm(vectors, weight, { transposeB: true }, bias);
  const right = graph.reduceSum(graph.multiply(graph.logSoftmax(logits), targets), [0, 1]);
  const squares = graph.reduceSum(graph.multiply(weight, weight), [0, 1]);
  const loss = graph.subtract(graph.scale(squares, penalty / 2), right);
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

/** A feature that never varies is left at 0. */
function standardization({ vectors, width, classes }: Examples): Scaling {
  const [mean, squares] = [new Float64Array(width), new Float64Array(width)];
  for (let at = 0; at < vectors.length; at += 1) {
    const value = vectors[at] ?? 0;
    mean[at % width] = (mean[at % width] ?? 0) + value / classes.length;
    squares[at % width] = (squares[at % width] ?? 0) + value ** 2 / classes.length;
  }
  const factor = mean.map((each, i) => {
    const variance = (squares[i] ?? 0) - each ** 2;
    return variance > 0 ? 1 / Math.sqrt(variance) : 0;
  });
  return { mean, factor };
}

function scaled(vectors: Float32Array, { mean, factor }: Scaling): Float32Array {
  const { length: width } = mean;
  return vectors.map((value, at) => (value - (mean[at % width] ?? 0)) * (factor[at % width] ?? 0));
}

function bestClasses(vectors: Float32Array, weights: Float64Array, width: number, classes: number): number[] {
  return Array.from({ length: vectors.length / width }, (_, row) => {
    let [best, highest] = [0, Number.NEGATIVE_INFINITY];
    for (let each = 0; each < classes; each += 1) {
      let score = weights[classes * width + each] ?? 0;
      for (let i = 0; i < width; i += 1) {
        score += (weights[each * width + i] ?? 0) * (vectors[row * width + i] ?? 0);
      }
      if (score > highest) [best, highest] = [each, score];
    }
    return best;
  });
}
