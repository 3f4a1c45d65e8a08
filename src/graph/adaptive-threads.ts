import type { CompiledGraph, CompileOptions, GraphExecutor, TensorData } from './executor.js';
import { sizesOf } from './feeds.js';
import type { Graph } from './graph.js';
import { onnxExecutor } from './onnx/onnx-executor.js';
import { ThreadChoice, type ThreadChoiceOptions, type Width } from './thread-choice.js';

/**
 * ONNX Runtime on the processor, for graphs that run again and again.
 * @param threads that a run uses. While other processes keep the machine busy, they sleep while they wait for each other
 *   where that is faster. How many they are stays the same, and so do all results, bit by bit.
 */
export function cpuExecutor(threads: number): GraphExecutor {
  const wide = onnxExecutor({ threads });
  if (threads === 1) return wide;
  return adaptiveThreads({ narrow: onnxExecutor({ threads, spinning: false }), wide });
}

/** Executors that give the same bits and differ in what they take of the processors. */
export interface AdaptiveThreadsOptions {
  /** Leaves more to others: its threads sleep while they wait for each other. */
  readonly narrow: GraphExecutor;
  /** Is faster on a machine of its own: its threads look for work while they wait. */
  readonly wide: GraphExecutor;
  /** A clock, in milliseconds. Default: `performance.now`. */
  readonly now?: () => number;
}

/** What differs by less is left as it is: a change takes its time, too. */
const CHOICE: ThreadChoiceOptions = { first: 'wide', toWide: 0.97, toNarrow: 0.97 };

/**
 * Runs each graph by one of two executors, whichever is faster now ({@link ThreadChoice}): on a machine that others keep
 * busy, threads that look for work take the processors from those that have some. A graph is held by one executor at a
 * time, so that neither its fixed weights nor the memory of its largest run are there twice; it is compiled again for a
 * change, and what that takes counts as a cost of the change.
 */
export function adaptiveThreads({
  narrow,
  wide,
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
      return new AdaptiveGraph({ graph, options, executors, found, now }, compiled, width);
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
  readonly found: Found;
  readonly now: () => number;
}

class AdaptiveGraph implements CompiledGraph {
  readonly #parts: AdaptiveParts;
  readonly #choice: ThreadChoice;
  #compiled: CompiledGraph | undefined;
  #width: Width;

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
    const { graph, found, now } = this.#parts;
    const choice = this.#choice;
    if (found.width !== undefined) choice.follow(found.width);
    const startedAt = now();
    const compiled = await this.#compiledFor(choice.width);
    const readyAt = now();
    await compiled.run(feeds, outputs);
    const { decisions } = choice;
    const sizes = Object.values(sizesOf(graph.inputs, feeds));
    const size = sizes.reduce((product, each) => product * Math.max(1, each), 1);
    choice.learn({ size, ms: now() - readyAt, switchMs: readyAt - startedAt });
    if (choice.decisions > decisions) found.width = choice.chosen;
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
