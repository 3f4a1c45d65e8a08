import type { Graph } from './graph.js';
import type { Quantization } from './quantization.js';
import type { Tensor } from './tensor.js';

/** Numbers with their shape; `data` is row-major and exactly as long as `dims` say. */
export type TensorData =
  | { readonly type: 'float32'; readonly dims: readonly number[]; readonly data: Float32Array }
  | { readonly type: 'int32'; readonly dims: readonly number[]; readonly data: Int32Array }
  | { readonly type: 'int64'; readonly dims: readonly number[]; readonly data: BigInt64Array };

export interface CompileOptions {
  /** Values of parameters that stay fixed; the others are fed at every run. Default: none fixed. */
  readonly weights?: ReadonlyMap<string, Float32Array>;
  /** Which of the fixed weights are held as integers. An executor that can't do that rejects. Default: none. */
  readonly quantization?: Quantization;
}

/** A value that goes into a graph or comes out of it. */
export type TensorDescription = Pick<Tensor, 'name' | 'type' | 'shape'>;

/**
 * Runs tensor graphs. To write one: give every operation a kernel, run them over `nodesFor(outputs)` through each
 * node's `visit`, let `checkFeeds` and `checkOutputs` refuse what doesn't fit, and test it with
 * `graphExecutorContract`.
 */
export interface GraphExecutor {
  readonly specificationVersion: 1;
  /** Prepares a graph for many runs. Rejects where the runtime refuses the graph. */
  compile(graph: Graph, options?: CompileOptions): Promise<CompiledGraph>;
}

export interface CompiledGraph {
  /**
   * Runs the graph once.
   * @param feeds every input, and every parameter without fixed values, by name.
   * @param outputs the buffers to write, by output name: all of the graph's outputs, their dims exact. The
   *   numbers are in these buffers once the promise resolves.
   */
  run(
    feeds: Readonly<Record<string, TensorData>>,
    outputs: Readonly<Record<string, TensorData>>,
  ): Promise<void>;
  /** Frees what the runtime holds. Must not be called while a run is under way. Idempotent. */
  release(): Promise<void>;
}

/** A graph that was read from a file, and says itself what it takes and gives. */
export interface LoadedGraph extends CompiledGraph {
  /** What is fed, dimensions that a run decides as symbols. */
  readonly inputs: readonly TensorDescription[];
  readonly outputs: readonly TensorDescription[];
  /** Bytes of the file. */
  readonly bytes: number;
}

/** An executor that also runs graphs of ONNX files. */
export interface OnnxExecutor extends GraphExecutor {
  /** @param file path of an ONNX model. Rejects where the runtime refuses it. */
  load(file: string): Promise<LoadedGraph>;
}
