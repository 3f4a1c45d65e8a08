import {
  type LoadedGraph,
  resolveShape,
  type TensorData,
  type TensorDescription,
  volume,
} from '../graph/index.js';
import type { TextWindow } from '../text-reader/index.js';
import { lengthGroups } from './length-groups.js';
import { nativeWork } from './native-work.js';
import { RunCost } from './run-cost.js';
import { RunThreads } from './run-threads.js';
import { TokenGrid } from './token-grid.js';

/**
 * Most tokens of a run of several texts, padding included. Longer runs take no less time for each token, as what they
 * compute no longer fits into the processor's cache, and the runtime keeps the memory of its largest run for each model.
 */
const MAX_TOKENS_PER_RUN = 512;

/** The graph of a model, once for each number of threads. */
export interface EncoderGraphs {
  /** For one thread. */
  readonly narrow: LoadedGraph;
  /** Loads it for several threads; undefined if runs may use one only. */
  readonly openWide: (() => Promise<LoadedGraph>) | undefined;
  readonly output: TensorDescription;
  /** Id of the token that fills rows up. */
  readonly pad: number;
}

/** How windows are computed. */
export interface ComputeOptions {
  /** Whether the next run has the machine for itself, and may use several threads. Default: none has. */
  readonly alone?: () => boolean;
  /** Texts, by their index, whose windows needn't be computed any more. */
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

  async #run(
    run: readonly TextWindow[],
    alone: boolean,
    computed: Map<TextWindow, Float32Array>,
  ): Promise<void> {
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
    for (const [row, window] of run.entries())
      computed.set(window, data.subarray(row * width, (row + 1) * width));
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

/** What the graph takes: token types only where it reads them. */
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
