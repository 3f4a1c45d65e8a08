import type { CompiledGraph, CompileOptions, GraphExecutor, TensorData } from '../executor.js';
import { checkFeeds, checkOutputs, fedTensors, readStoredWeight } from '../feeds.js';
import type { Graph } from '../graph.js';
import type { Tensor } from '../node.js';
import { volume } from '../shape.js';
import { evaluate } from './evaluate.js';
import type { TensorFlow, TensorFlowClasses, TensorFlowTensor } from './tensorflow.js';

/**
 * Runs graphs on the TensorFlow.js that you pass: `tensorflowExecutor(tf)` with `@tensorflow/tfjs` or
 * `@tensorflow/tfjs-node`. The backend that it is set to decides how many threads a run uses. Far slower than
 * ONNX Runtime; it serves platforms that ONNX Runtime lacks, and checks its numbers.
 */
export function tensorflowExecutor<T extends TensorFlowTensor>(
  tf: TensorFlowClasses<T> & TensorFlow<NoInfer<T>>,
): GraphExecutor {
  return {
    specificationVersion: 1,
    async compile(graph: Graph, { quantization, ...fixed }: CompileOptions = {}) {
      if (quantization !== undefined) {
        throw new RangeError('TensorFlow.js stores no weights as integers; compile without `quantization`');
      }
      return new TensorFlowGraph(tf, graph, fixed);
    },
  };
}

class TensorFlowGraph<T extends TensorFlowTensor> implements CompiledGraph {
  readonly #fixed = new Map<string, T>();
  readonly #fed: readonly Tensor[];
  #isReleased = false;

  readonly #tf: TensorFlow<T>;
  readonly #graph: Graph;

  constructor(tf: TensorFlow<T>, graph: Graph, fixed: CompileOptions) {
    const { weights, stored } = fixed;
    this.#tf = tf;
    this.#graph = graph;

    for (const { name, shape } of graph.parameters) {
      const dims = shape.map(Number);
      const values =
        weights?.get(name) ??
        (stored?.offsets.has(name) ? readStoredWeight(stored, name, volume(dims)) : undefined);
      if (values !== undefined) this.#fixed.set(name, tf.tensor(values, dims, 'float32'));
    }
    this.#fed = fedTensors(graph, fixed);
  }

  async run(
    feeds: Readonly<Record<string, TensorData>>,
    outputs: Readonly<Record<string, TensorData>>,
  ): Promise<void> {
    if (this.#isReleased) throw new Error('the compiled graph was released');
    const sizes = checkFeeds(this.#fed, feeds);
    checkOutputs(this.#graph.outputs, outputs, sizes);
    const names = [...this.#graph.outputs.keys()];
    let results: readonly T[] = [];
    this.#tf.tidy(() => {
      const known = new Map(this.#fixed);
      for (const [name, data] of Object.entries(feeds)) known.set(name, toTensor(this.#tf, data));
      const computed = evaluate(this.#tf, [...this.#graph.outputs.values()], known, sizes);
      results = computed.map((each) => this.#tf.keep(each));
    });
    try {
      for (const [position, name] of names.entries()) {
        const result = results[position];
        const output = outputs[name];
        if (result !== undefined && output !== undefined) write(output, await result.data());
      }
    } finally {
      const fixed = new Set(this.#fixed.values());
      for (const result of new Set(results)) if (!fixed.has(result)) result.dispose();
    }
  }

  async release(): Promise<void> {
    this.#isReleased = true;
    for (const tensor of this.#fixed.values()) tensor.dispose();
    this.#fixed.clear();
  }
}

function toTensor<T>(tf: TensorFlow<T>, { type, dims, data }: TensorData): T {
  if (type === 'float32') return tf.tensor(data, [...dims], 'float32');
  // TensorFlow.js has no int64; ids fit in 32 bits.
  return tf.tensor(type === 'int64' ? Int32Array.from(data, Number) : data, [...dims], 'int32');
}

function write({ type, data }: TensorData, values: ArrayLike<number>): void {
  if (type === 'int64') data.set(BigInt64Array.from(Array.from(values), BigInt));
  else data.set(values);
}
