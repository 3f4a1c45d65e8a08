/** Tensors that stay in an executor's own memory from one run to the next, such as that of a GPU. */
import type { CompileOptions, TensorData } from './executor.js';
import type { Graph } from './graph.js';
import type { ElementType } from './tensor.js';

/** A tensor in an executor's own memory. Only the executor that made it can read it. */
export interface ResidentTensor {
  /** Tells it from {@link TensorData}, whose numbers are at hand. */
  readonly location: 'device';
  readonly type: ElementType;
  readonly dims: readonly number[];
}

/** What a graph can be fed. */
export type Feed = TensorData | ResidentTensor;

/** What a compilation may fix beforehand, and what its runs leave where they computed it. */
export interface ResidentCompileOptions extends CompileOptions {
  /** Names of the outputs that stay. */
  readonly stays: ReadonlySet<string>;
}

/**
 * The memory of an executor that can keep tensors. They take room until they are freed: nothing is collected.
 */
export interface ResidentMemory {
  /** Copies a tensor in. What is written into its array later isn't seen. */
  upload(tensor: TensorData): Promise<ResidentTensor>;
  /** Copies a tensor out, into a new array. @throws RangeError for a tensor of another memory, or a freed one. */
  download(tensor: ResidentTensor): Promise<TensorData>;
  /** Gives a tensor's room back; it can't be used any more. Idempotent. */
  free(tensor: ResidentTensor): void;
  /** Prepares a graph for many runs. Rejects if the runtime refuses the graph. */
  compile(graph: Graph, options: ResidentCompileOptions): Promise<ResidentGraph>;
}

/** A graph that is ready to run on tensors that stay. */
export interface ResidentGraph {
  /**
   * Runs the graph once.
   * @param feeds as of `CompiledGraph.run`; each is an ordinary tensor or one of the same memory, which is left as it is.
   * @param outputs a buffer of the exact shape for every output that doesn't stay, by name.
   * @returns a new tensor for every output that stays, by name. They are the caller's to free.
   * @throws RangeError for a tensor of another memory, or a freed one; else as `CompiledGraph.run`.
   */
  run(
    feeds: Readonly<Record<string, Feed>>,
    outputs: Readonly<Record<string, TensorData>>,
  ): Promise<Readonly<Record<string, ResidentTensor>>>;
  /** Frees what the runtime holds, but not the tensors that its runs left. Idempotent. */
  release(): Promise<void>;
}

/** What using a tensor in a memory that doesn't hold it throws. */
export function notHere({ type, dims }: ResidentTensor): RangeError {
  return new RangeError(
    `a tensor ${type} [${dims.join(', ')}] was freed before, or is in another executor's memory`,
  );
}
