import {
  type CompiledGraph,
  checkFeeds,
  emptyTensor,
  type Feed,
  fedTensors,
  type Graph,
  type GraphExecutor,
  type ResidentCompileOptions,
  type ResidentGraph,
  type ResidentMemory,
  type ResidentTensor,
  resolveShape,
  type Tensor,
  type TensorData,
} from '../../src/graph/index.js';

/**
 * An executor with a {@link ResidentMemory} of ordinary arrays. It saves nothing on a processor, where all memory is
 * one; it lets what is made for a device run without one.
 */
export function residentOnBuffers(executor: GraphExecutor): GraphExecutor & { readonly resident: ResidentMemory } {
  return {
    specificationVersion: 1,
    ...(executor.quantizes !== undefined && { quantizes: executor.quantizes }),
    compile: (graph, options) => executor.compile(graph, options),
    resident: new BufferMemory(executor),
  };
}

class BufferMemory implements ResidentMemory {
  readonly #executor: GraphExecutor;
  readonly #numbers = new WeakMap<ResidentTensor, TensorData>();

  constructor(executor: GraphExecutor) {
    this.#executor = executor;
  }

  async upload(tensor: TensorData): Promise<ResidentTensor> {
    return this.keep(copyOf(tensor));
  }

  async download(tensor: ResidentTensor): Promise<TensorData> {
    return copyOf(this.numbersOf(tensor));
  }

  free(tensor: ResidentTensor): void {
    this.#numbers.delete(tensor);
  }

  async compile(graph: Graph, options: ResidentCompileOptions): Promise<ResidentGraph> {
    const compiled = await this.#executor.compile(graph, options);
    return new BufferGraph(this, compiled, graph, options);
  }

  keep(numbers: TensorData): ResidentTensor {
    const { type, dims } = numbers;
    const tensor: ResidentTensor = { location: 'device', type, dims };
    this.#numbers.set(tensor, numbers);
    return tensor;
  }

  numbersOf(tensor: ResidentTensor): TensorData {
    const numbers = this.#numbers.get(tensor);
    if (numbers === undefined) throw new RangeError('the tensor was freed before');
    return numbers;
  }
}

class BufferGraph implements ResidentGraph {
  readonly #memory: BufferMemory;
  readonly #compiled: CompiledGraph;
  readonly #fed: readonly Tensor[];
  readonly #staying: readonly (readonly [name: string, tensor: Tensor])[];

  constructor(
    memory: BufferMemory,
    compiled: CompiledGraph,
    graph: Graph,
    { stays, ...fixed }: ResidentCompileOptions,
  ) {
    this.#memory = memory;
    this.#compiled = compiled;
    this.#fed = fedTensors(graph, fixed);
    this.#staying = [...graph.outputs].filter(([name]) => stays.has(name));
  }

  async run(feeds: Readonly<Record<string, Feed>>, outputs: Readonly<Record<string, TensorData>>) {
    const sizes = checkFeeds(this.#fed, feeds);
    const fed = Object.entries(feeds).map(
      ([name, feed]) => [name, 'data' in feed ? feed : this.#memory.numbersOf(feed)] as const,
    );
    const left = this.#staying.map(
      ([name, { type, shape }]) => [name, emptyTensor(type, resolveShape(shape, sizes))] as const,
    );
    await this.#compiled.run(Object.fromEntries(fed), { ...outputs, ...Object.fromEntries(left) });
    return Object.fromEntries(left.map(([name, numbers]) => [name, this.#memory.keep(numbers)]));
  }

  release(): Promise<void> {
    return this.#compiled.release();
  }
}

function copyOf(tensor: TensorData): TensorData {
  const { dims } = tensor;
  if (tensor.type === 'float32') return { type: tensor.type, dims, data: tensor.data.slice() };
  if (tensor.type === 'int32') return { type: tensor.type, dims, data: tensor.data.slice() };
  return { type: tensor.type, dims, data: tensor.data.slice() };
}
