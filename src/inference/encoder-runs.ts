import {
  type LoadedGraph,
  resolveShape,
  type TensorData,
  type TensorDescription,
  ThreadChoice,
  type ThreadChoiceOptions,
  volume,
  type Width,
} from '../graph/index.js';
import type { TextWindow } from '../text/index.js';

/** Counts the running calls of ONNX Runtime in this thread; shared with the thread that started it. */
let calls: Int32Array = new Int32Array(1);

/** @param shared memory of the thread that started this one: terminating a thread within such a call ends the process. */
export function countNativeWorkIn(shared: Int32Array): void {
  calls = shared;
}

export async function nativeWork<Value>(work: () => Promise<Value>): Promise<Value> {
  Atomics.add(calls, 0, 1);
  try {
    return await work();
  } finally {
    Atomics.sub(calls, 0, 1);
  }
}

export interface RunSize {
  readonly rows: number;
  readonly tokens: number;
}

type Features = readonly [start: number, tokens: number, pairs: number];

/**
 * Costs in tokens of starting a run, of a token, and of a pair of tokens in attention. Measured on minis and bases on two
 * cores; used until a model's own runs are measured.
 */
const PRIOR: Features = [18, 1, 1 / 1500];
const PRIOR_SIZES: readonly RunSize[] = [
  { rows: 1, tokens: 8 },
  { rows: 1, tokens: 128 },
  { rows: 8, tokens: 32 },
  { rows: 4, tokens: 256 },
];
/** Decay of a run's weight with each further run: about the last two hundred count. */
const KEPT = 0.995;
const RUNS_PER_FIT = 8;

/**
 * The time of a model's runs on this machine: start + rows · tokens · a + rows · tokens² · b. It is fitted online by least
 * squares of the relative error, so that long runs don't count more than short ones.
 */
export class RunCost {
  #coefficients: Features = PRIOR;
  /** Sums of products of two features, upper triangle by rows, and of the features themselves. */
  #products = [0, 0, 0, 0, 0, 0];
  #sums = [0, 0, 0];
  #runs = 0;

  /** In tokens before the first measured run, then in milliseconds. */
  cost(size: RunSize): number {
    return costOf(this.#coefficients, size);
  }

  learn(size: RunSize, ms: number): void {
    if (!(ms > 0)) return;
    if (this.#runs === 0) this.#assume(ms / costOf(PRIOR, size));
    this.#add(size, ms);
    this.#runs += 1;
    if (this.#runs % RUNS_PER_FIT === 0) this.#fit();
  }

  #assume(msPerToken: number): void {
    for (const size of PRIOR_SIZES) this.#add(size, msPerToken * costOf(PRIOR, size));
  }

  #add({ rows, tokens }: RunSize, ms: number): void {
    const [a, b, c] = [1 / ms, (rows * tokens) / ms, (rows * tokens * tokens) / ms];
    this.#products = [a * a, a * b, a * c, b * b, b * c, c * c].map(
      (product, at) => KEPT * (this.#products[at] ?? 0) + product,
    );
    this.#sums = [a, b, c].map((sum, at) => KEPT * (this.#sums[at] ?? 0) + sum);
  }

  /** Keeps the earlier coefficients if the runs are too similar or too noisy to separate the three. */
  #fit(): void {
    const [aa = 0, ab = 0, ac = 0, bb = 0, bc = 0, cc = 0] = this.#products;
    const matrix = [
      [aa, ab, ac],
      [ab, bb, bc],
      [ac, bc, cc],
    ];
    const [start = 0, perToken = 0, perPair = 0] = solve(matrix, this.#sums);
    const isSound = [start, perToken, perPair].every((each) => Number.isFinite(each) && each > 0);
    if (isSound) this.#coefficients = [start, perToken, perPair];
  }
}

function costOf([start, perToken, perPair]: Features, { rows, tokens }: RunSize): number {
  return start + rows * tokens * (perToken + perPair * tokens);
}

/** The solution of three equations by Cramer's rule. */
function solve(matrix: readonly (readonly number[])[], right: readonly number[]): number[] {
  const whole = determinant(matrix);
  return right.map((_, column) => {
    const replaced = matrix.map((row, at) => row.map((each, k) => (k === column ? (right[at] ?? 0) : each)));
    return determinant(replaced) / whole;
  });
}

function determinant(matrix: readonly (readonly number[])[]): number {
  const [[a = 0, b = 0, c = 0] = [], [d = 0, e = 0, f = 0] = [], [g = 0, h = 0, i = 0] = []] = matrix;
  return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g);
}

interface GroupingOptions {
  /** The most tokens, padding included, that a run may hold; a longer text runs alone. */
  readonly maxTokens: number;
  /** The cost of a run. Default: that of small encoders. */
  readonly cost?: (size: RunSize) => number;
}

const usual = new RunCost();

/** Positions in `lengths`, in runs of the least total cost: dynamic programming over the sorted texts. */
export function lengthGroups(
  lengths: readonly number[],
  { maxTokens, cost = (size) => usual.cost(size) }: GroupingOptions,
): number[][] {
  const order = [...lengths.keys()].sort((a, b) => (lengths[a] ?? 0) - (lengths[b] ?? 0));
  const least = new Float64Array(order.length + 1).fill(Number.POSITIVE_INFINITY);
  const start = new Int32Array(order.length + 1);
  least[0] = 0;
  for (let end = 1; end <= order.length; end += 1) {
    const tokens = lengths[order[end - 1] ?? 0] ?? 0;
    for (let from = end - 1; from >= 0; from -= 1) {
      const rows = end - from;
      if (rows * tokens > maxTokens && rows > 1) break;
      const total = (least[from] ?? 0) + cost({ rows, tokens });
      if (total < (least[end] ?? 0)) {
        least[end] = total;
        start[end] = from;
      }
    }
  }
  const groups: number[][] = [];
  for (let end = order.length; end > 0; end = start[end] ?? 0) groups.push(order.slice(start[end], end));
  return groups.reverse();
}

/** Runs without other work before a second session is worth its memory. */
const RUNS_BEFORE = 8;
/** Several threads take processors from other work, so they must save a tenth of the time. */
const CHOICE: ThreadChoiceOptions = { first: 'narrow', toWide: 0.9, toNarrow: 1.05 };

/** Threads of a run while nothing else runs, for each range of sizes: small runs are often faster with one. */
export class RunThreads {
  readonly #sizes = new Map<number, ThreadChoice>();
  #runs = 0;

  get wantsWide(): boolean {
    return this.#runs >= RUNS_BEFORE;
  }

  choose(tokens: number): Width {
    return this.wantsWide ? this.#of(tokens).width : 'narrow';
  }

  /** @param ms measured time of a run of the chosen width, while nothing else ran. */
  learn(tokens: number, ms: number): void {
    if (this.wantsWide) this.#of(tokens).learn({ size: Math.max(1, tokens), ms });
    this.#runs += 1;
  }

  /** Runs of similar size, within a factor of two. */
  #of(tokens: number): ThreadChoice {
    const size = Math.floor(Math.log2(Math.max(1, tokens)));
    const known = this.#sizes.get(size);
    if (known !== undefined) return known;
    const choice = new ThreadChoice(CHOICE);
    this.#sizes.set(size, choice);
    return choice;
  }
}

/** An int64 matrix of whole numbers from 0 to 2^31 − 1. [rows, columns] */
class TokenGrid {
  readonly type = 'int64';
  readonly dims: readonly number[];
  readonly data: BigInt64Array;
  /** Writing only the low halves saves a BigInt per token; every supported platform is little-endian. */
  readonly #halves: Int32Array;

  constructor(rows: number, columns: number) {
    this.dims = [rows, columns];
    this.data = new BigInt64Array(rows * columns);
    this.#halves = new Int32Array(this.data.buffer);
  }

  /** Writes a row; what it lacks at its end is filled with `padding`. */
  setRow(row: number, values: Int32Array, padding: number): void {
    const [, columns = 0] = this.dims;
    const start = row * columns;
    for (let column = 0; column < columns; column += 1) {
      this.#halves[2 * (start + column)] = column < values.length ? (values[column] ?? 0) : padding;
    }
  }

  /** Writes ones, and zeros behind them. */
  setOnes(row: number, count: number): void {
    const [, columns = 0] = this.dims;
    for (let column = 0; column < count; column += 1) this.#halves[2 * (row * columns + column)] = 1;
  }
}

/**
 * Most tokens of a run of several texts, padding included. Longer runs are no faster per token, since their activations
 * exceed the processor's cache, and the runtime keeps the memory of each model's largest run.
 */
const MAX_TOKENS_PER_RUN = 512;

interface EncoderGraphs {
  /** For one thread. */
  readonly narrow: LoadedGraph;
  /** Loads it for several threads; undefined if runs may use one only. */
  readonly openWide: (() => Promise<LoadedGraph>) | undefined;
  readonly output: TensorDescription;
  readonly pad: number;
}

interface ComputeOptions {
  /** Whether nothing else runs or waits, so that the next run may use several threads. Default: never. */
  readonly alone?: () => boolean;
  readonly cancelled?: ReadonlySet<number>;
}

/** Computes the outputs of an encoder with its head, window by window, in runs of similar length. */
export class EncoderRuns {
  readonly #graphs: EncoderGraphs;
  readonly #cost = new RunCost();
  readonly #threads = new RunThreads();
  #wide: Promise<LoadedGraph> | undefined;

  constructor(graphs: EncoderGraphs) {
    this.#graphs = graphs;
  }

  /** Computes windows run by run, and puts the outputs of each into `computed`. Yields between the runs. */
  async *compute(
    windows: readonly TextWindow[],
    computed: Map<TextWindow, Float32Array>,
    options: ComputeOptions = {},
  ): AsyncGenerator<undefined, void> {
    const lengths = windows.map(({ encoding }) => encoding.ids.length);
    const cost = this.#cost;
    const groups =
      windows.length === 1
        ? [[0]]
        : lengthGroups(lengths, { maxTokens: MAX_TOKENS_PER_RUN, cost: (size) => cost.cost(size) });
    for (const group of groups) {
      const run = group.flatMap((position) => windows[position] ?? []);
      const { cancelled } = options;
      const wanted = cancelled?.size ? run.filter(({ row }) => !cancelled.has(row)) : run;
      if (wanted.length === 0) continue;
      await this.#run(wanted, options.alone?.() ?? false, computed);
      yield;
    }
  }

  async release(): Promise<void> {
    const wide = await this.#wide;
    await Promise.all([this.#graphs.narrow.release(), wide?.release()]);
  }

  async #run(run: readonly TextWindow[], alone: boolean, computed: Map<TextWindow, Float32Array>): Promise<void> {
    const { output, pad } = this.#graphs;
    const tokens = run.reduce((most, { encoding }) => Math.max(most, encoding.ids.length), 0);
    // Models that answer for each token also give rows for padding.
    const dims = resolveShape(output.shape, { batch: run.length, tokens });
    const data = new Float32Array(volume(dims));
    const { graph, learn } = await this.#graphFor(run.length, tokens, alone);
    const startedAt = performance.now();
    const feeds = feedsOf(run, tokens, pad, graph);
    await nativeWork(() => graph.run(feeds, { [output.name]: { type: 'float32', dims, data } }));
    learn(performance.now() - startedAt);
    const width = data.length / run.length;
    for (const [row, window] of run.entries()) computed.set(window, data.subarray(row * width, (row + 1) * width));
  }

  async #graphFor(rows: number, tokens: number, alone: boolean) {
    const { narrow, openWide } = this.#graphs;
    const learnCost = (ms: number) => this.#cost.learn({ rows, tokens }, ms);
    if (!alone || openWide === undefined) return { graph: narrow, learn: learnCost };
    const threads = this.#threads;
    if (threads.wantsWide) this.#wide ??= openWide();
    const width = threads.choose(rows * tokens);
    const graph = width === 'wide' ? ((await this.#wide) ?? narrow) : narrow;
    const learn = (ms: number) => {
      threads.learn(rows * tokens, ms);
      if (width === 'narrow') learnCost(ms);
    };
    return { graph, learn };
  }
}

/** The graph's inputs; token types only if it reads them. */
function feedsOf(
  run: readonly TextWindow[],
  tokens: number,
  pad: number,
  { inputs }: Pick<LoadedGraph, 'inputs'>,
): Record<string, TensorData> {
  const ids = new TokenGrid(run.length, tokens);
  const mask = new TokenGrid(run.length, tokens);
  const types = new TokenGrid(run.length, tokens);
  for (const [row, { encoding }] of run.entries()) {
    ids.setRow(row, encoding.ids, pad);
    mask.setOnes(row, encoding.ids.length);
    types.setRow(row, encoding.typeIds, 0);
  }
  const readsTypes = inputs.some(({ name }) => name === 'token_type_ids');
  return { input_ids: ids, attention_mask: mask, ...(readsTypes && { token_type_ids: types }) };
}
