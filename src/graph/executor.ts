import type { Graph } from './graph.js';
import type { Quantization } from './quantization.js';
import type { ResidentMemory } from './resident.js';
import type { Tensor } from './tensor.js';

/** Numbers with their shape; `data` is row-major and exactly as long as `dims` say. */
export type TensorData =
  | { readonly type: 'float32'; readonly dims: readonly number[]; readonly data: Float32Array }
  | { readonly type: 'int32'; readonly dims: readonly number[]; readonly data: Int32Array }
  | { readonly type: 'int64'; readonly dims: readonly number[]; readonly data: BigInt64Array };

/** What a compilation may fix beforehand. */
export interface CompileOptions {
  /** Values of parameters that stay fixed; all others are fed at every run. Default: none fixed. */
  readonly weights?: ReadonlyMap<string, Float32Array>;
  /**
   * Which of the fixed weights are stored as integers. An executor that never `quantizes` rejects.
   * Default: none.
   */
  readonly quantization?: Quantization;
}

/** A value that goes into a graph or comes out of it. */
export type TensorDescription = Pick<Tensor, 'name' | 'type' | 'shape'>;

/**
 * Runs tensor graphs. To write an executor, give every operation a kernel, run the nodes of
 * `nodesFor(outputs)` through their `visit`, check feeds and buffers with `checkFeeds` and `checkOutputs`,
 * and test the whole with `graphExecutorContract`.
 */
export interface GraphExecutor {
  /** Of this interface. */
  readonly specificationVersion: 1;
  /** Whether it stores weights as integers, as `CompileOptions.quantization` asks. Default false. */
  readonly quantizes?: boolean;
  /**
   * Memory of its own, in which tensors can stay between runs. Training then leaves weights, gradients and the
   * optimizer's state there. Default: none; everything is fed and read at every run.
   */
  readonly resident?: ResidentMemory;
  /** Prepares a graph for many runs. Rejects if the runtime refuses the graph. */
  compile(graph: Graph, options?: CompileOptions): Promise<CompiledGraph>;
}

/** A graph that is ready to run, any number of times. */
export interface CompiledGraph {
  /**
   * Runs the graph once.
   * @param feeds every input, and every parameter without fixed values, by name.
   * @param outputs a buffer of the exact shape for every output of the graph, by name. The numbers are in
   *   these buffers once the promise resolves.
   */
  run(
    feeds: Readonly<Record<string, TensorData>>,
    outputs: Readonly<Record<string, TensorData>>,
  ): Promise<void>;
  /** Frees what the runtime holds. Must not be called while a run is under way. Idempotent. */
  release(): Promise<void>;
}

/** A graph that was loaded from a file, which says what its inputs and outputs are. */
export interface LoadedGraph extends CompiledGraph {
  /** What to feed; dimensions that vary from run to run are symbols. */
  readonly inputs: readonly TensorDescription[];
  /** What a run writes. */
  readonly outputs: readonly TensorDescription[];
  /** Size of the file in bytes. */
  readonly bytes: number;
}

/** An executor that can also load ONNX files. */
export interface OnnxExecutor extends GraphExecutor {
  /** Reads a graph with its weights. @param file path of an ONNX model. Rejects if the runtime refuses it. */
  load(file: string): Promise<LoadedGraph>;
}
