import {
  type LoadedGraph,
  type TensorData,
  type TensorDescription,
  ThreadChoice,
  type ThreadChoiceOptions,
  type Width,
} from '../graph/index.js';
import type { TextWindow } from '../text/index.js';
import { NativeCalls } from './native-calls.js';

/** Of this thread. */
let calls = new NativeCalls();

/** @param shared memory of the thread that started this one */
export function countNativeWorkIn(shared: Int32Array): void {
  calls = new NativeCalls(shared);
}

export function nativeWork<Value>(work: () => Promise<Value>): Promise<Value> {
  return calls.count(work);
}

export interface RunSize {
  readonly rows: number;
  readonly tokens: number;
}

/** The cost of starting a run, in tokens: on processors, 5 to 25 were measured, and the choice between them is worth 2 %. */
const START = 12;
/** On a device, a run waits for the transfer of its inputs and outputs. */
const DEVICE_START = 200;
/** The cost of a pair of tokens in attention, in tokens. */
const PAIR = 1 / 1500;

/** What a run costs, in tokens of a short text. */
function runCost({ rows, tokens }: RunSize, start = START): number {
  return start + rows * tokens * (1 + PAIR * tokens);
}

interface GroupingOptions {
  /** The most tokens, padding included, that a run may hold; a longer text runs alone. */
  readonly maxTokens: number;
  readonly cost: (size: RunSize) => number;
}

/** Positions in `lengths`, in runs of the least total cost: dynamic programming over the sorted texts. */
export function lengthGroups(lengths: readonly number[], { maxTokens, cost }: GroupingOptions): number[][] {
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

/**
 * Most tokens of a run of several texts, padding included. Longer runs are no faster per token, since their activations
 * exceed the processor's cache, and the runtime keeps the memory of each model's largest run.
 */
const MAX_TOKENS_PER_RUN = 512;

interface EncoderGraphs {
  /** For one thread. Its inputs are int64 [batch, tokens], as `checkedGraph` has found. */
  readonly narrow: LoadedGraph;
  /** Loads it for several threads; undefined if runs may use one only. */
  readonly openWide: (() => Promise<LoadedGraph>) | undefined;
  /** [batch, outputs], or [batch, tokens, outputs]. */
  readonly output: TensorDescription;
  readonly pad: number;
  readonly isOnDevice: boolean;
}

/** Inputs and outputs of a run. */
class RunBuffers {
  readonly feeds: Record<string, TensorData> = {};
  readonly outputs: Record<string, TensorData>;
  /** [rows, outputs], or [rows, tokens, outputs] of models that answer for each token, padding included. */
  readonly data: Float32Array;
  readonly #tokens: number;
  /** Writing only the low halves of an int64 saves a BigInt per token; every supported platform is little-endian. */
  readonly #halves: { readonly name: string; readonly values: Int32Array }[] = [];

  constructor({ narrow: { inputs }, output }: EncoderGraphs, rows: number, tokens: number) {
    this.#tokens = tokens;
    for (const { name } of inputs) {
      const data = new BigInt64Array(rows * tokens);
      this.feeds[name] = { type: 'int64', dims: [rows, tokens], data };
      this.#halves.push({ name, values: new Int32Array(data.buffer) });
    }
    const outputs = Number(output.shape.at(-1));
    const dims = output.shape.length === 3 ? [rows, tokens, outputs] : [rows, outputs];
    this.data = new Float32Array(output.shape.length === 3 ? rows * tokens * outputs : rows * outputs);
    this.outputs = { [output.name]: { type: 'float32', dims, data: this.data } };
  }

  fill(run: readonly TextWindow[], pad: number): void {
    for (const { name, values } of this.#halves) {
      for (let row = 0; row < run.length; row += 1) {
        const { ids, typeIds } = run[row]?.encoding ?? NOTHING;
        const given = name === 'token_type_ids' ? typeIds : ids;
        const padding = name === 'input_ids' ? pad : 0;
        const start = 2 * row * this.#tokens;
        for (let at = 0; at < this.#tokens; at += 1) {
          const value = at < given.length ? given[at] : padding;
          values[start + 2 * at] = name === 'attention_mask' && at < given.length ? 1 : (value ?? 0);
        }
      }
    }
  }
}

const NOTHING = { ids: new Int32Array(), typeIds: new Int32Array() };

/** Buffers for one text of at most this many tokens are kept, because making them takes as long as tokenizing. */
const MOST_KEPT_TOKENS = 128;
const MOST_KEPT_OUTPUTS = 1 << 12;

/** Computes the outputs of an encoder with its head, in runs of windows of similar length. */
export class EncoderRuns {
  readonly #graphs: EncoderGraphs;
  readonly #threads = new RunThreads();
  readonly #cost: (size: RunSize) => number;
  /** By the number of tokens; taken out while they are used. */
  readonly #kept = new Map<number, RunBuffers>();
  /** Undefined once it is known that it can't be opened: every run then uses the narrow one. */
  #wide: Promise<LoadedGraph | undefined> | undefined;

  constructor(graphs: EncoderGraphs) {
    this.#graphs = graphs;
    this.#cost = graphs.isOnDevice ? (size) => runCost(size, DEVICE_START) : (size) => runCost(size);
  }

  /** The windows of each run. */
  plan(windows: readonly TextWindow[]): TextWindow[][] {
    const lengths = windows.map(({ encoding }) => encoding.ids.length);
    const groups = lengthGroups(lengths, { maxTokens: MAX_TOKENS_PER_RUN, cost: this.#cost });
    return groups.map((group) => group.flatMap((position) => windows[position] ?? []));
  }

  /** Computes one run and puts its outputs into `computed`. @param alone whether nothing else runs or waits */
  async run(run: readonly TextWindow[], alone: boolean, computed: Map<TextWindow, Float32Array>): Promise<void> {
    const { narrow, openWide, pad } = this.#graphs;
    let tokens = 0;
    for (const { encoding } of run) tokens = Math.max(tokens, encoding.ids.length);
    const threads = this.#threads;
    const mayBeWide = alone && openWide !== undefined;
    if (mayBeWide && threads.wantsWide) this.#wide ??= openWide().catch(() => undefined);
    const isWide = mayBeWide && threads.choose(run.length * tokens) === 'wide';
    const graph = (isWide ? await this.#wide : undefined) ?? narrow;
    const startedAt = performance.now();
    const known = run.length === 1 ? this.#kept.get(tokens) : undefined;
    if (known !== undefined) this.#kept.delete(tokens);
    const buffers = known ?? new RunBuffers(this.#graphs, run.length, tokens);
    const isKept = run.length === 1 && tokens <= MOST_KEPT_TOKENS && buffers.data.length <= MOST_KEPT_OUTPUTS;
    buffers.fill(run, pad);
    await nativeWork(() => graph.run(buffers.feeds, buffers.outputs));
    if (mayBeWide) threads.learn(run.length * tokens, performance.now() - startedAt);
    const width = buffers.data.length / run.length;
    for (let row = 0; row < run.length; row += 1) {
      const window = run[row];
      const outputs = isKept ? buffers.data.slice() : buffers.data.subarray(row * width, (row + 1) * width);
      if (window !== undefined) computed.set(window, outputs);
    }
    if (isKept) this.#kept.set(tokens, buffers);
  }

  async release(): Promise<void> {
    const wide = await this.#wide;
    await nativeWork(() => Promise.all([this.#graphs.narrow.release(), wide?.release()]));
  }
}
