import { setImmediate as nextTurn } from 'node:timers/promises';
import { AbortedError } from '../contract/index.js';
import type { Encoder } from '../encoder/index.js';
import {
  addGradients,
  type CompiledGraph,
  type CompileOptions,
  type Feed,
  Graph,
  type GraphExecutor,
  type Tensor,
  type TensorData,
} from '../graph/index.js';
import { Random } from '../system/index.js';
import type { TextOutputs, TextWindow } from '../text/index.js';
import { Evaluator } from './evaluator.js';
import type { LabelledTokens, LinearEnd, RowHead, TargetOptions } from './head.js';
import type { FrozenWeights, Weights } from './parameters.js';

interface LinearEndFit {
  readonly executor: GraphExecutor;
  readonly head: RowHead;
  readonly end: LinearEnd;
  readonly encoder: Encoder;
  readonly parameters: Readonly<Record<string, Feed>>;
  readonly frozen?: FrozenWeights | undefined;
  readonly train: readonly TextWindow[];
  readonly options: TargetOptions;
  readonly seed: number;
  readonly signal: AbortSignal;
}

/**
 * Maximum number of texts that the layer is fitted to, and of their tokens in a head per token: more would take longer
 * and more memory, and hardly change it.
 */
const MAX_TEXTS = 4096;
const MAX_TOKENS = 32_768;

/**
 * Weight of half the squared weights relative to the sum of all losses. With a tenth of it the layer memorizes its rows
 * and leaves the encoder little to learn, with ten times as much it starts too low (docs/training-defaults.md).
 */
const PENALTY = 100;

/**
 * Fits the linear layer that ends a head to the states that the pretrained encoder gives, before both learn together: a
 * layer drawn at random would first pull the encoder in random directions (Kumar et al. 2022, "Fine-Tuning can Distort
 * Pretrained Features and Underperform Out-of-Distribution", LP-FT).
 * @returns its weight and bias, by name; nothing, if no token has a target.
 * @throws AbortedError soon after the signal fires
 */
export async function fitLinearEnd(fit: LinearEndFit): Promise<Weights> {
  const { executor, head, end, encoder, options, signal } = fit;
  const windows = drawnWindows(fit);
  const read = await statesOf(windows, { ...fit, head: withoutEnd(head, end), fixed: fit.frozen });
  const texts = read.flat().map(({ outputs }) => outputs);
  const labelled = end.labelledTokens?.(windows, options);
  const rows = labelled ? tokenRows(texts, labelled.places, encoder.width) : texts;
  if (rows.length === 0) return new Map();
  const { feeds } = labelled ?? head.targets(windows, options);
  const problem = {
    vectors: joined(rows, encoder.width),
    width: encoder.width,
    outputs: head.outputs(encoder),
    loss: head.loss,
    feeds,
    penalty: PENALTY / (rows.length * end.lossesPerRow),
  };
  const { weight, bias } = await fitLinear(executor, problem, signal);
  return new Map([
    [end.weight, weight],
    [end.bias, bias],
  ]);
}

function drawnWindows({ train, head, seed }: LinearEndFit): TextWindow[] {
  const shuffled = Random.fromSeed(seed, 1).shuffle([...train]);
  let tokens = 0;
  const drawn = shuffled.slice(0, MAX_TEXTS).filter(({ encoding }) => {
    tokens += encoding.ids.length;
    return head.per === 'text' || tokens <= MAX_TOKENS;
  });
  return drawn.sort((a, b) => a.row - b.row);
}

/** A head that ends where its linear layer would begin: its outputs are what the layer reads. */
export function withoutEnd(head: RowHead, end: LinearEnd): RowHead {
  return {
    ...head,
    outputs: ({ width }) => width,
    parameters: (encoder) => encoder.parameters(encoder.prefix),
    logits: end.states,
  };
}

interface StatesInput extends Pick<LinearEndFit, 'executor' | 'encoder' | 'signal'> {
  /** One {@link withoutEnd}. */
  readonly head: RowHead;
  /** Weights to compile into the graph. */
  readonly fixed?: CompileOptions | undefined;
  /** All others. Default: none. */
  readonly parameters?: Readonly<Record<string, Feed>>;
}

/**
 * What the layer that ends a head reads of the windows of each text, without dropout: [width], or [tokens, width] of a head
 * per token.
 * @param windows sorted by their rows. @throws AbortedError soon after the signal fires
 */
export async function statesOf(
  windows: readonly TextWindow[],
  { executor, head, encoder, fixed, parameters = {}, signal }: StatesInput,
): Promise<readonly TextOutputs[]> {
  // Adapters change nothing yet, so the states are those of the encoder alone.
  const own = new Set(encoder.parameters(encoder.prefix).map(({ name }) => name));
  const below = Object.fromEntries(Object.entries(parameters).filter(([name]) => own.has(name)));
  const evaluator = await Evaluator.create(executor, head, encoder, fixed);
  try {
    return await evaluator.outputs(windows, below, signal);
  } finally {
    await evaluator.release();
  }
}

function tokenRows(
  texts: readonly Float32Array[],
  places: LabelledTokens['places'],
  width: number,
): readonly Float32Array[] {
  return texts.flatMap((states, text) =>
    (places[text] ?? []).map((token) => states.subarray(token * width, (token + 1) * width)),
  );
}

/** [rows, width] */
function joined(rows: readonly Float32Array[], width: number): Float32Array {
  const all = new Float32Array(rows.length * width);
  for (const [at, row] of rows.entries()) all.set(row, at * width);
  return all;
}

export interface LinearProblem {
  /** What it reads: [rows, width], row-major. */
  readonly vectors: Float32Array;
  readonly width: number;
  readonly outputs: number;
  loss(graph: Graph, logits: Tensor): Tensor;
  readonly feeds: Readonly<Record<string, TensorData>>;
  /** Weight of half the squared weights, added to the loss. */
  readonly penalty: number;
}

export interface LinearFit {
  /** [outputs, width], row-major. */
  readonly weight: Float32Array;
  /** [outputs] */
  readonly bias: Float32Array;
}

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
  const scaling = standardization(problem);
  const solver = await LinearSolver.create(executor, problem);
  try {
    return unscaled(await solver.fit({ ...problem, vectors: scaled(problem.vectors, scaling) }, signal), scaling);
  } finally {
    await solver.release();
  }
}

const SEARCH = { steps: 150, tolerance: 1e-5 };

/** Fits linear layers of one shape to any number of rows each, with one compiled graph. */
export class LinearSolver {
  readonly #compiled: CompiledGraph;
  readonly #shape: Pick<LinearProblem, 'width' | 'outputs'>;

  private constructor(compiled: CompiledGraph, shape: Pick<LinearProblem, 'width' | 'outputs'>) {
    this.#compiled = compiled;
    this.#shape = shape;
  }

  static async create(
    executor: GraphExecutor,
    problem: Pick<LinearProblem, 'width' | 'outputs' | 'loss'>,
  ): Promise<LinearSolver> {
    return new LinearSolver(await executor.compile(lossGraph(problem)), problem);
  }

  /**
   * What lowers the loss most, with an L2 penalty on its weights.
   * @param start where the search begins. Default: at 0.
   * @throws AbortedError soon after the signal fires
   */
  async fit(
    { vectors: given, feeds, penalty }: Pick<LinearProblem, 'vectors' | 'feeds' | 'penalty'>,
    signal?: AbortSignal,
    start?: LinearFit,
  ): Promise<LinearFit> {
    const { outputs, width } = this.#shape;
    const vectors = matrix(given, width);
    const fixed = { ...feeds, vectors, penalty: scalar(Float32Array.of(penalty)) };
    const parts = (all: Float32Array) => ({
      weight: matrix(all.subarray(0, outputs * width), width),
      bias: { type: 'float32', dims: [outputs], data: all.subarray(outputs * width) } as const,
    });
    const slopeAt = async (point: Float64Array): Promise<Slope> => {
      await nextTurn(); // a request to stop only arrives when the event loop turns
      if (signal?.aborted) throw new AbortedError('the training');
      const value = new Float32Array(1);
      const gradient = new Float32Array(point.length);
      const { weight, bias } = parts(gradient);
      const results = { loss: scalar(value), 'd weight': weight, 'd bias': bias };
      await this.#compiled.run({ ...fixed, ...parts(Float32Array.from(point)) }, results);
      return { value: value[0] ?? Number.NaN, gradient: Float64Array.from(gradient) };
    };
    const found = new Float64Array(outputs * (width + 1));
    if (start) found.set([...start.weight, ...start.bias]);
    await minimize(slopeAt, found, SEARCH);
    return {
      weight: Float32Array.from(found.subarray(0, outputs * width)),
      bias: Float32Array.from(found.subarray(outputs * width)),
    };
  }

  release(): Promise<void> {
    return this.#compiled.release();
  }
}

function matrix(data: Float32Array, columns: number): TensorData {
  return { type: 'float32', dims: [data.length / columns, columns], data };
}

function scalar(data: Float32Array): TensorData {
  return { type: 'float32', dims: [], data };
}

function lossGraph({ width, outputs, loss: lossOf }: Pick<LinearProblem, 'width' | 'outputs' | 'loss'>): Graph {
  const graph = new Graph();
  const vectors = graph.input('vectors', 'float32', ['batch', width]);
  const penalty = graph.input('penalty', 'float32', []);
  const weight = graph.parameter('weight', [outputs, width]);
  const bias = graph.parameter('bias', [outputs]);
  const logits = graph.gemm(vectors, weight, { transposeB: true }, bias);
  const squares = graph.reduceSum(graph.multiply(weight, weight), [0, 1]);
  const loss = graph.add(lossOf(graph, logits), graph.scale(graph.multiply(squares, penalty), 1 / 2));
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

/** Features with less than these shares of the mean variance, or of the mean square, never vary but by rounding. */
const LEAST_OF_VARIANCE = 1e-6;
const LEAST_OF_SQUARE = 1e-12;

/** A feature that never varies is left at 0. */
function standardization({ vectors, width }: Pick<LinearProblem, 'vectors' | 'width'>): Scaling {
  const count = vectors.length / width;
  const [mean, variance] = [new Float64Array(width), new Float64Array(width)];
  for (const [at, value] of vectors.entries()) mean[at % width] = (mean[at % width] ?? 0) + value / count;
  let square = 0;
  for (const [at, value] of vectors.entries()) {
    // In two passes: the difference of two large sums may be below 0.
    variance[at % width] = (variance[at % width] ?? 0) + (value - (mean[at % width] ?? 0)) ** 2 / count;
    square += value ** 2 / vectors.length;
  }
  const meanVariance = variance.reduce((sum, each) => sum + each, 0) / width;
  const least = Math.max(LEAST_OF_VARIANCE * meanVariance, LEAST_OF_SQUARE * square);
  const factor = variance.map((each) => (each > least ? 1 / Math.sqrt(each) : 0));
  return { mean, factor };
}

function scaled(vectors: Float32Array, { mean, factor }: Scaling): Float32Array {
  const { length: width } = mean;
  return vectors.map((value, at) => (value - (mean[at % width] ?? 0)) * (factor[at % width] ?? 0));
}

/** The layer that gives for the vectors what the one found gives for the scaled ones. */
function unscaled(found: LinearFit, { mean, factor }: Scaling): LinearFit {
  const { length: width } = mean;
  const weight = new Float32Array(found.weight.length);
  const bias = Float64Array.from(found.bias);
  for (let at = 0; at < weight.length; at += 1) {
    const [output, feature] = [Math.floor(at / width), at % width];
    const value = (found.weight[at] ?? 0) * (factor[feature] ?? 0);
    weight[at] = value;
    bias[output] = (bias[output] ?? 0) - value * (mean[feature] ?? 0);
  }
  return { weight, bias: Float32Array.from(bias) };
}

interface Slope {
  readonly value: number;
  readonly gradient: Float64Array;
}

interface MinimizeOptions {
  readonly steps: number;
  /** Ends when a step lowers the value by a smaller share of it. */
  readonly tolerance: number;
}

interface Step {
  readonly move: Float64Array;
  readonly change: Float64Array;
  /** 1 / (move · change). */
  readonly rho: number;
}

/** Steps that are remembered. */
const MEMORY = 10;
/** Share of the predicted decrease that a step must reach (Armijo), and how often a step is halved to reach it. */
const SUFFICIENT_DECREASE = 1e-4;
const MAX_HALVINGS = 20;

/** L-BFGS (Nocedal & Wright 2006, algorithm 7.5), steps halved until they help. @param at becomes the minimum. */
export async function minimize(
  slopeAt: (point: Float64Array) => Promise<Slope>,
  at: Float64Array,
  { steps, tolerance }: MinimizeOptions,
): Promise<number> {
  let slope = await slopeAt(at);
  const memory: Step[] = [];
  for (let step = 0; step < steps; step += 1) {
    const direction = descent(slope.gradient, memory);
    const predicted = dot(direction, slope.gradient);
    if (predicted >= 0) break;
    const found = await lineSearch(slopeAt, at, slope.value, direction, predicted);
    if (found === undefined) break;
    const change = found.slope.gradient.map((value, i) => value - (slope.gradient[i] ?? 0));
    const curvature = dot(found.move, change);
    if (curvature > 0) memory.push({ move: found.move, change, rho: 1 / curvature });
    if (memory.length > MEMORY) memory.shift();
    at.set(at.map((value, i) => value + (found.move[i] ?? 0)));
    const gained = slope.value - found.slope.value;
    slope = found.slope;
    if (gained < tolerance * Math.abs(slope.value)) break;
  }
  return slope.value;
}

/** The two loops of L-BFGS: −H·gradient, H being the inverse of the curvature that the last steps have shown. */
function descent(gradient: Float64Array, memory: readonly Step[]): Float64Array {
  const direction = gradient.map((value) => -value);
  const alphas: number[] = [];
  for (const { move, change, rho } of [...memory].reverse()) {
    const alpha = rho * dot(move, direction);
    alphas.push(alpha);
    addScaled(direction, change, -alpha);
  }
  const last = memory.at(-1);
  const scale =
    last === undefined
      ? 1 / Math.max(1, Math.sqrt(dot(gradient, gradient)))
      : dot(last.move, last.change) / dot(last.change, last.change);
  for (let i = 0; i < direction.length; i += 1) direction[i] = (direction[i] ?? 0) * scale;
  for (const { move, change, rho } of memory) {
    addScaled(direction, move, (alphas.pop() ?? 0) - rho * dot(change, direction));
  }
  return direction;
}

async function lineSearch(
  slopeAt: (point: Float64Array) => Promise<Slope>,
  at: Float64Array,
  value: number,
  direction: Float64Array,
  predicted: number,
): Promise<{ slope: Slope; move: Float64Array } | undefined> {
  let length = 1;
  for (let halving = 0; halving < MAX_HALVINGS; halving += 1) {
    const move = direction.map((each) => each * length);
    const slope = await slopeAt(at.map((each, i) => each + (move[i] ?? 0)));
    if (slope.value <= value + SUFFICIENT_DECREASE * length * predicted) return { slope, move };
    length /= 2;
  }
  return undefined;
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i += 1) sum += (a[i] ?? 0) * (b[i] ?? 0);
  return sum;
}

function addScaled(a: Float64Array, b: Float64Array, factor: number): void {
  for (let i = 0; i < a.length; i += 1) a[i] = (a[i] ?? 0) + factor * (b[i] ?? 0);
}
