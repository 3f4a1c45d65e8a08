import {
  type CompiledGraph,
  type CompileOptions,
  checkFeeds,
  checkOutputs,
  fedTensors,
  type GraphExecutor,
  readStoredWeight,
  type TensorData,
} from '../executor.js';
import type { Graph } from '../graph.js';
import { type ElementType, type NodeOf, nodesFor, type Tensor } from '../node.js';
import type { OperationName } from '../operations/operation.js';
import { resolveShape, volume } from '../shape.js';

/**
 * The part of TensorFlow.js that is used here, which `@tensorflow/tfjs` and `@tensorflow/tfjs-node` both
 * have. T is their tensor.
 */
export interface TensorFlow<T> {
  tidy(compute: () => void): void;
  keep(tensor: T): T;
  tensor(values: Float32Array | Int32Array, shape: number[], type: 'float32' | 'int32'): T;
  add(a: T, b: T): T;
  sub(a: T, b: T): T;
  mul(a: T, b: T): T;
  div(a: T, b: T): T;
  exp(x: T): T;
  erf(x: T): T;
  sqrt(x: T): T;
  greater(a: T, b: T): T;
  equal(a: T, b: T): T;
  tanh(x: T): T;
  sigmoid(x: T): T;
  softplus(x: T): T;
  rsqrt(x: T): T;
  softmax(x: T): T;
  logSoftmax(x: T): T;
  matMul(a: T, b: T, transposeA: boolean, transposeB: boolean): T;
  mean(x: T, axis: number, keepDimensions: boolean): T;
  sum(x: T, axes: number[], keepDimensions: boolean): T;
  gather(x: T, indices: T): T;
  scatterND(indices: T, updates: T, shape: number[]): T;
  broadcastTo(x: T, shape: number[]): T;
  slice(x: T, begin: number[], size: number[]): T;
  concat(tensors: T[], axis: number): T;
  pad(x: T, paddings: [number, number][]): T;
  reshape(x: T, shape: number[]): T;
  transpose(x: T, permutation: number[]): T;
  cast(x: T, type: 'float32' | 'int32'): T;
  range(start: number, stop: number, step: number, type: 'int32'): T;
}

/** The part of a TensorFlow.js tensor that is used here. */
export interface TensorFlowTensor {
  readonly shape: number[];
  data(): Promise<ArrayLike<number>>;
  dispose(): void;
}

/** Tells the compiler what the tensors of a TensorFlow.js are. */
export interface TensorFlowClasses<T> {
  readonly Tensor: abstract new (...parts: never) => T;
}

/** Call it inside `tf.tidy`, or a function that is differentiated. @param known inputs and parameters by name. */
export function evaluate<T extends TensorFlowTensor>(
  tf: TensorFlow<T>,
  tensors: readonly Tensor[],
  known: ReadonlyMap<string, T>,
  sizes: Readonly<Record<string, number>>,
): T[] {
  const kernels = kernelsOf(tf);
  const values = new Map<Tensor, T>();
  const lookUp = (tensor: Tensor): T => {
    const value = values.get(tensor) ?? known.get(tensor.name) ?? constant(tf, tensor);
    values.set(tensor, value);
    return value;
  };
  for (const node of nodesFor(tensors)) {
    const results = node.visit((typed) =>
      kernels[typed.operation]({ node: typed, inputs: typed.inputs.map(lookUp), sizes }),
    );
    for (const [position, output] of node.outputs.entries()) {
      const result = results[position];
      if (result !== undefined) values.set(output, result);
    }
  }
  return tensors.map(lookUp);
}

function constant<T>(tf: TensorFlow<T>, { name, type, shape, source }: Tensor): T {
  if (source.kind !== 'constant') throw new RangeError(`no value is given for ${name}`);
  const target = tensorFlowType(type);
  const values = target === 'float32' ? Float32Array.from(source.values) : Int32Array.from(source.values);
  return tf.tensor(values, shape.map(Number), target);
}

interface KernelContext<Name extends OperationName, T> {
  readonly node: NodeOf<Name>;
  readonly inputs: readonly T[];
  readonly sizes: Readonly<Record<string, number>>;
}

type Kernel<Name extends OperationName, T> = (context: KernelContext<Name, T>) => readonly T[];
type Kernels<T> = { readonly [Name in OperationName]: Kernel<Name, T> };

type Unary = 'exp' | 'sqrt' | 'tanh' | 'sigmoid' | 'softplus' | 'softmax' | 'logSoftmax';
type Binary = 'add' | 'subtract' | 'multiply' | 'divide';

function unary<T>(compute: (x: T) => T): Kernel<Unary, T> {
  return ({ inputs: [x] }) => [compute(given(x))];
}

function binary<T>(compute: (a: T, b: T) => T): Kernel<Binary, T> {
  return ({ inputs: [a, b] }) => [compute(given(a), given(b))];
}

/** Every operation, composed of operations that TensorFlow.js can differentiate. */
function kernelsOf<T extends TensorFlowTensor>(tf: TensorFlow<T>): Kernels<T> {
  return { ...elementwiseKernels(tf), ...matrixKernels(tf), ...layoutKernels(tf), ...partKernels(tf) };
}

function elementwiseKernels<T extends TensorFlowTensor>(tf: TensorFlow<T>) {
  return {
    add: binary<T>((a, b) => tf.add(a, b)),
    subtract: binary<T>((a, b) => tf.sub(a, b)),
    multiply: binary<T>((a, b) => tf.mul(a, b)),
    divide: binary<T>((a, b) => tf.div(a, b)),
    exp: unary<T>((x) => tf.exp(x)),
    sqrt: unary<T>((x) => tf.sqrt(x)),
    tanh: unary<T>((x) => tf.tanh(x)),
    sigmoid: unary<T>((x) => tf.sigmoid(x)),
    softplus: unary<T>((x) => tf.softplus(x)),
    softmax: unary<T>((x) => tf.softmax(x)),
    logSoftmax: unary<T>((x) => tf.logSoftmax(x)),
    scale: ({ node, inputs: [x] }) => [tf.mul(given(x), scalar(tf, node.attributes.factor))],
    gaussianGate({ inputs: [z] }) {
      const half = scalar(tf, 0.5);
      const gate = tf.add(tf.mul(tf.erf(given(z)), half), half);
      return [tf.mul(given(z), gate), gate];
    },
    gelu({ inputs: [x] }) {
      const half = scalar(tf, 0.5);
      const z = tf.mul(given(x), scalar(tf, Math.SQRT1_2));
      return [tf.mul(given(x), tf.add(tf.mul(tf.erf(z), half), half))];
    },
    geluTanh({ inputs: [x] }) {
      const half = scalar(tf, 0.5);
      const cube = tf.mul(tf.mul(given(x), given(x)), given(x));
      const inner = tf.add(given(x), tf.mul(cube, scalar(tf, 0.044715)));
      const gate = tf.add(tf.mul(tf.tanh(tf.mul(inner, scalar(tf, Math.sqrt(2 / Math.PI)))), half), half);
      return [tf.mul(given(x), gate)];
    },
    greater: ({ inputs: [a, b] }) => [tf.cast(tf.greater(given(a), given(b)), 'float32')],
    equal: ({ inputs: [a, b] }) => [tf.cast(tf.equal(given(a), given(b)), 'float32')],
  } satisfies Partial<Kernels<T>>;
}

function matrixKernels<T extends TensorFlowTensor>(tf: TensorFlow<T>) {
  return {
    gemm({ node: { attributes }, inputs: [a, b, c] }) {
      const { transposeA, transposeB, alpha, beta } = attributes;
      const product = tf.matMul(given(a), given(b), transposeA, transposeB);
      const scaled = alpha === 1 ? product : tf.mul(product, scalar(tf, alpha));
      if (c === undefined) return [scaled];
      return [tf.add(scaled, beta === 1 ? c : tf.mul(c, scalar(tf, beta)))];
    },
    batchMatMul({ node: { attributes }, inputs: [a, b] }) {
      const { transposeA, transposeB, rowsFirstA, rowsFirstB, alpha } = attributes;
      const left = rowsFirstA ? rowsLast(tf, given(a)) : given(a);
      const right = rowsFirstB ? rowsLast(tf, given(b)) : given(b);
      const product = tf.matMul(left, right, transposeA, transposeB);
      return [alpha === 1 ? product : tf.mul(product, scalar(tf, alpha))];
    },
    layerNorm({ node, inputs: [x, gamma, beta] }) {
      const mean = tf.mean(given(x), -1, true);
      const centred = tf.sub(given(x), mean);
      const variance = tf.mean(tf.mul(centred, centred), -1, true);
      const inverseDeviation = tf.rsqrt(tf.add(variance, scalar(tf, node.attributes.epsilon)));
      const normalized = tf.mul(centred, inverseDeviation);
      return [tf.add(tf.mul(normalized, given(gamma)), given(beta)), mean, inverseDeviation];
    },
  } satisfies Partial<Kernels<T>>;
}

function layoutKernels<T extends TensorFlowTensor>(tf: TensorFlow<T>) {
  return {
    gather: ({ inputs: [table, indices] }) => [tf.gather(given(table), given(indices))],
    placeRows({ node, inputs: [rows, indices] }) {
      const { shape } = given(rows);
      const column = tf.reshape(given(indices), [shape[0] ?? 0, 1]);
      return [tf.scatterND(column, given(rows), [node.attributes.count, shape[1] ?? 0])];
    },
    firstRows: ({ node, inputs: [table, x] }) => [
      tf.gather(given(table), rowNumbers(tf, given(x), node.attributes.first)),
    ],
    reduceSum: ({ node: { attributes }, inputs: [x] }) => [
      tf.sum(given(x), [...attributes.axes], attributes.keepDimensions),
    ],
    columnSum: ({ inputs: [x] }) => [tf.sum(given(x), [0], false)],
    expand: ({ node, inputs: [x], sizes }) => [tf.broadcastTo(given(x), resolveShape(node.attributes.shape, sizes))],
    reshape: ({ node, inputs: [x], sizes }) => [tf.reshape(given(x), resolveShape(node.attributes.shape, sizes))],
    transpose: ({ node, inputs: [x] }) => [tf.transpose(given(x), [...node.attributes.permutation])],
    rowNumbers: ({ inputs: [x] }) => [rowNumbers(tf, given(x))],
    cast: ({ node, inputs: [x] }) => [tf.cast(given(x), tensorFlowType(node.attributes.type))],
  } satisfies Partial<Kernels<T>>;
}

function partKernels<T extends TensorFlowTensor>(tf: TensorFlow<T>) {
  return {
    slice({ node: { attributes }, inputs: [x] }) {
      const { axis, from, to } = attributes;
      return [cut(tf, given(x), axis, from, to)];
    },
    concat: ({ node, inputs }) => [tf.concat([...inputs], node.attributes.axis)],
    relativeToAbsolute({ inputs: [x] }) {
      const shape = given(x).shape;
      const [leading, n = 0] = [shape.slice(0, -2), shape.at(-2)];
      const flat = tf.reshape(given(x), [...leading, 2 * n * n]);
      const shifted = cut(tf, flat, leading.length, n, 2 * n * n);
      const rows = tf.reshape(shifted, [...leading, n, 2 * n - 1]);
      return [cut(tf, rows, leading.length + 1, 0, n)];
    },
    absoluteToRelative({ inputs: [x] }) {
      const shape = given(x).shape;
      const [leading, n = 0] = [shape.slice(0, -2), shape.at(-2)];
      const widened = padded(tf, given(x), 0, n - 1);
      const whole = padded(tf, tf.reshape(widened, [...leading, n * (2 * n - 1)]), n, 0);
      return [tf.reshape(whole, [...leading, n, 2 * n])];
    },
    rowDistances({ inputs: [x] }) {
      const n = given(x).shape[0] ?? 0;
      return [tf.range(-n, n, 1, 'int32')];
    },
  } satisfies Partial<Kernels<T>>;
}

/** from ≤ index < to along an axis. */
function cut<T extends TensorFlowTensor>(tf: TensorFlow<T>, x: T, axis: number, from: number, to: number): T {
  return tf.slice(
    x,
    x.shape.map((_, at) => (at === axis ? from : 0)),
    x.shape.map((size, at) => (at === axis ? to - from : size)),
  );
}

/** x with zeros before and after it along its last axis. */
function padded<T extends TensorFlowTensor>(tf: TensorFlow<T>, x: T, before: number, after: number): T {
  const last = x.shape.length - 1;
  return tf.pad(
    x,
    x.shape.map((_, axis): [number, number] => (axis === last ? [before, after] : [0, 0])),
  );
}

/** TensorFlow.js has no int64; ids fit in 32 bits. */
function tensorFlowType(type: ElementType): 'float32' | 'int32' {
  return type === 'float32' ? 'float32' : 'int32';
}

/** [rows, …batch, columns] → […batch, rows, columns]. */
function rowsLast<T extends TensorFlowTensor>(tf: TensorFlow<T>, x: T): T {
  const rank = x.shape.length;
  const batchAxes = Array.from({ length: rank - 2 }, (_, axis) => axis + 1);
  return tf.transpose(x, [...batchAxes, 0, rank - 1]);
}

function rowNumbers<T extends TensorFlowTensor>(tf: TensorFlow<T>, x: T, first = 0): T {
  return tf.range(first, first + (x.shape[0] ?? 0), 1, 'int32');
}

function scalar<T>(tf: TensorFlow<T>, value: number): T {
  return tf.tensor(Float32Array.of(value), [], 'float32');
}

function given<T>(input: T | undefined): T {
  if (input === undefined) throw new RangeError('the node has fewer inputs than its operation takes');
  return input;
}

/**
 * Runs graphs on the TensorFlow.js that you pass: `tensorflowExecutor(tf)` with `@tensorflow/tfjs` or
 * `@tensorflow/tfjs-node`. The backend that it is set to decides how many threads a run uses. It is far slower than
 * ONNX Runtime; use it on platforms without ONNX Runtime, or to check its numbers.
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
        weights?.get(name) ?? (stored?.offsets.has(name) ? readStoredWeight(stored, name, volume(dims)) : undefined);
      if (values !== undefined) this.#fixed.set(name, tf.tensor(values, dims, 'float32'));
    }
    this.#fed = fedTensors(graph, fixed);
  }

  async run(feeds: Readonly<Record<string, TensorData>>, outputs: Readonly<Record<string, TensorData>>): Promise<void> {
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
  return tf.tensor(type === 'int64' ? Int32Array.from(data, Number) : data, [...dims], 'int32');
}

function write({ type, data }: TensorData, values: ArrayLike<number>): void {
  if (type === 'int64') data.set(BigInt64Array.from(Array.from(values), BigInt));
  else data.set(values);
}
