import { type Sizes, sizesOf } from './check-tensors.js';
import type { CompiledGraph, CompileOptions, GraphExecutor, TensorData } from './executor.js';
import type { Graph } from './graph.js';
import { ThreadChoice, type ThreadChoiceOptions, type Width } from './thread-choice.js';

/** Executors that differ in their threads. */
export interface AdaptiveThreadsOptions {
  /** Computes with one thread. */
  readonly narrow: GraphExecutor;
  /** Computes with several. */
  readonly wide: GraphExecutor;
  /**
   * Whether both give the same bits in a run of the graph, by the sizes of its batch: where they don't, `wide` computes,
   * so that the results don't depend on what else the machine does. Default: always.
   */
  readonly sameNumbers?: (graph: Graph) => (sizes: Sizes) => boolean;
  /** A clock, in milliseconds. Default: `performance.now`. */
  readonly now?: () => number;
}

/** What differs by less is left as it is: a change takes its time, too. */
const CHOICE: ThreadChoiceOptions = { first: 'wide', toWide: 0.97, toNarrow: 0.97 };

/** So many runs that must be wide for each that needn't leave all of them wide. */
const MOST_WIDE_RUNS = 0.05;

/**
 * Runs each graph with one thread or with several, whichever is faster now: on a machine that others keep busy, several
 * threads wait for each other ({@link ThreadChoice}). A graph is held by one executor at a time, so that neither its
 * fixed weights nor the memory of its largest run are there twice; it is compiled again for a change, and what that
 * takes counts as a cost of the change.
 */
export function adaptiveThreads({
  narrow,
  wide,
  sameNumbers = () => () => true,
  now = () => performance.now(),
}: AdaptiveThreadsOptions): GraphExecutor {
  const executors = { narrow, wide };
  const found: Found = { width: undefined };
  return {
    specificationVersion: 1,
    ...(wide.quantizes !== undefined && { quantizes: wide.quantizes }),
    async compile(graph, options) {
      const { width = CHOICE.first } = found;
      const compiled = await executors[width].compile(graph, options);
      const parts = { graph, options, executors, isSame: sameNumbers(graph), found, now };
      return new AdaptiveGraph(parts, compiled, width);
    },
  };
}

/** What the trials of an executor's graphs led to last: graphs that run seldom go by the others. */
interface Found {
  width: Width | undefined;
}

interface AdaptiveParts {
  readonly graph: Graph;
  readonly options: CompileOptions | undefined;
  readonly executors: Readonly<Record<Width, GraphExecutor>>;
  readonly isSame: (sizes: Sizes) => boolean;
  readonly found: Found;
  readonly now: () => number;
}

class AdaptiveGraph implements CompiledGraph {
  readonly #parts: AdaptiveParts;
  readonly #choice: ThreadChoice;
  #compiled: CompiledGraph | undefined;
  #width: Width;
  /** Runs that may have any width, and runs that must be wide. */
  #runs = 0;
  #wideRuns = 0;

  constructor(parts: AdaptiveParts, compiled: CompiledGraph, width: Width) {
    this.#parts = parts;
    this.#compiled = compiled;
    this.#width = width;
    this.#choice = new ThreadChoice({ ...CHOICE, first: width });
  }

  async run(
    feeds: Readonly<Record<string, TensorData>>,
    outputs: Readonly<Record<string, TensorData>>,
  ): Promise<void> {
    const { graph, isSame, found, now } = this.#parts;
    const sizes = sizesOf(graph.inputs, feeds);
    if (!isSame(sizes)) return this.#runWide(feeds, outputs);
    this.#runs += 1;
    const choice = this.#choice;
    if (found.width !== undefined) choice.follow(found.width);
    const startedAt = now();
    const compiled = await this.#compiledFor(this.#isMostlyWide ? 'wide' : choice.width);
    const readyAt = now();
    await compiled.run(feeds, outputs);
    if (this.#isMostlyWide) return;
    const { decisions } = choice;
    const size = Object.values(sizes).reduce((product, each) => product * Math.max(1, each), 1);
    choice.learn({ size, ms: now() - readyAt, switchMs: readyAt - startedAt });
    if (choice.decisions > decisions) found.width = choice.chosen;
  }

  /** Where many runs must be wide, going to and fro would cost more than it gains. */
  get #isMostlyWide(): boolean {
    return this.#wideRuns > 1 && this.#wideRuns > MOST_WIDE_RUNS * this.#runs;
  }

  async #runWide(
    feeds: Readonly<Record<string, TensorData>>,
    outputs: Readonly<Record<string, TensorData>>,
  ): Promise<void> {
    this.#wideRuns += 1;
    const compiled = await this.#compiledFor('wide');
    await compiled.run(feeds, outputs);
  }

  async release(): Promise<void> {
    const compiled = this.#compiled;
    this.#compiled = undefined;
    await compiled?.release();
  }

  async #compiledFor(width: Width): Promise<CompiledGraph> {
    const compiled = this.#compiled;
    if (compiled === undefined) throw new Error('the compiled graph was released');
    if (width === this.#width) return compiled;
    const { graph, options, executors } = this.#parts;
    await compiled.release();
    this.#width = width;
    this.#compiled = await executors[width].compile(graph, options);
    return this.#compiled;
  }
}
