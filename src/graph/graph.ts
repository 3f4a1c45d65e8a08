import { createNode, type ElementType, type Node, outputAt, type Tensor, type TensorSource } from './node.js';
import {
  type BatchMatMulAttributes,
  type GemmAttributes,
  type InputGradient,
  type OperationName,
  operations,
  type PartGradient,
  type RowGradient,
  type Several,
  type Signatures,
} from './operations/operation.js';
import { dimensionAt, mergeDimensions, type Shape, ShapeError, sameShape } from './shape.js';

/** Numbers of a constant that is looked for among those that the graph has. */
const MOST_COMPARED = 4096;

/**
 * A tensor graph under construction: inputs, parameters and constants, and the operations applied to them.
 * Building it computes nothing; a `GraphExecutor` compiles and runs it.
 */
export class Graph {
  /** In the order of their creation. */
  readonly inputs: Tensor[] = [];
  /** In the order of their creation. */
  readonly parameters: Tensor[] = [];
  /** By the names that `output` gave them. */
  readonly outputs = new Map<string, Tensor>();
  readonly #constants = new Map<string, Tensor>();
  readonly #names = new Set<string>();
  #unnamed = 0;

  /** A value fed at every run. */
  input(name: string, type: ElementType, shape: Shape): Tensor {
    const tensor = this.#tensor(name, type, shape, { kind: 'input' });
    this.inputs.push(tensor);
    return tensor;
  }

  /** A learned float32 value: fed while training, stored in the graph on export. */
  parameter(name: string, shape: Shape): Tensor {
    const tensor = this.#tensor(name, 'float32', shape, { kind: 'parameter' });
    this.parameters.push(tensor);
    return tensor;
  }

  /** A fixed value; the same values in the same shape give the same tensor, unless they are many. */
  constant(values: readonly number[], shape: Shape, type: ElementType = 'float32'): Tensor {
    const make = () => this.#tensor(this.#freshName('constant'), type, shape, { kind: 'constant', values });
    if (values.length > MOST_COMPARED) return make();
    const key = `${type}[${shape.join()}]${values.join()}`;
    const tensor = this.#constants.get(key) ?? make();
    this.#constants.set(key, tensor);
    return tensor;
  }

  /** Makes a tensor an output of the graph, under this name. */
  output(name: string, tensor: Tensor): void {
    if (this.outputs.has(name)) throw new ShapeError(`the graph already has an output ${name}`);
    this.outputs.set(name, tensor);
  }

  /** a + b, broadcasting as NumPy does. */
  add(a: Tensor, b: Tensor): Tensor {
    return this.#apply('add', [a, b], {});
  }

  /** a − b, broadcasting. */
  subtract(a: Tensor, b: Tensor): Tensor {
    return this.#apply('subtract', [a, b], {});
  }

  /** a·b element by element, broadcasting. */
  multiply(a: Tensor, b: Tensor): Tensor {
    return this.#apply('multiply', [a, b], {});
  }

  /** a / b element by element, broadcasting. */
  divide(a: Tensor, b: Tensor): Tensor {
    return this.#apply('divide', [a, b], {});
  }

  /** factor·x. */
  scale(x: Tensor, factor: number): Tensor {
    return factor === 1 ? x : this.#apply('scale', [x], { factor });
  }

  /** eˣ. */
  exp(x: Tensor): Tensor {
    return this.#apply('exp', [x], {});
  }

  /** √x. */
  sqrt(x: Tensor): Tensor {
    return this.#apply('sqrt', [x], {});
  }

  /** tanh x. */
  tanh(x: Tensor): Tensor {
    return this.#apply('tanh', [x], {});
  }

  /** 1 / (1 + e⁻ˣ). */
  sigmoid(x: Tensor): Tensor {
    return this.#apply('sigmoid', [x], {});
  }

  /** ln(1 + eˣ), finite for large x. */
  softplus(x: Tensor): Tensor {
    return this.#apply('softplus', [x], {});
  }

  /** z·c with the gate c = ½ + ½·erf(z), which is GELU(√2·z) / √2. The node's second output is c. */
  gaussianGate(z: Tensor): Tensor {
    return this.#apply('gaussianGate', [z], {});
  }

  /**
   * x·Φ(x), where Φ is the standard normal distribution function. One pass where {@link gaussianGate} takes three, but
   * the gradient computes the gate again.
   */
  gelu(x: Tensor): Tensor {
    return this.#apply('gelu', [x], {});
  }

  /** GELU by its approximation with tanh: x·(½ + ½·tanh(√(2/π)·(x + 0.044715·x³))). */
  geluTanh(x: Tensor): Tensor {
    return this.#apply('geluTanh', [x], {});
  }

  /** The float32 number 1 where a > b and 0 elsewhere, broadcasting. It has no gradient. */
  greater(a: Tensor, b: Tensor): Tensor {
    return this.#apply('greater', [a, b], {});
  }

  /** 1 where a = b and 0 elsewhere, as float32, broadcasting. */
  equal(a: Tensor, b: Tensor): Tensor {
    return this.#apply('equal', [a, b], {});
  }

  /**
   * α·op(a)·op(b) + β·c; defaults: nothing transposed, α = β = 1.
   * Shapes: op(a) [m, k], op(b) [k, n], c [n] or [m, n] → [m, n].
   */
  gemm(a: Tensor, b: Tensor, attributes: Partial<GemmAttributes> = {}, c?: Tensor): Tensor {
    const complete = { transposeA: false, transposeB: false, alpha: 1, beta: 1, ...attributes };
    return this.#apply('gemm', c === undefined ? [a, b] : [a, b, c], complete);
  }

  /**
   * α·op(a)·op(b) for each matrix of the leading dimensions, which both share; defaults: nothing transposed, α = 1.
   * Shapes: op(a) […batch, m, k], op(b) […batch, k, n] → […batch, m, n].
   */
  batchMatMul(a: Tensor, b: Tensor, attributes: Partial<BatchMatMulAttributes> = {}): Tensor {
    return this.#apply('batchMatMul', [a, b], {
      transposeA: false,
      transposeB: false,
      rowsFirstA: false,
      rowsFirstB: false,
      alpha: 1,
      ...attributes,
    });
  }

  /** Softmax over the last axis. */
  softmax(x: Tensor): Tensor {
    return this.#apply('softmax', [x], {});
  }

  /** ln of the softmax over the last axis. */
  logSoftmax(x: Tensor): Tensor {
    return this.#apply('logSoftmax', [x], {});
  }

  /**
   * γ·(x − mean) / √(variance + ε) + β over the last axis. Shapes: x [rows, width], γ and β [width]. The
   * node's further outputs are mean and 1/√(variance + ε), [rows, 1] each.
   */
  layerNorm(x: Tensor, gamma: Tensor, beta: Tensor, epsilon: number): Tensor {
    return this.#apply('layerNorm', [x, gamma, beta], { epsilon });
  }

  /** Rows of a table by index. Shapes: table [rows, …rest], indices of any shape → [...indices, …rest]. */
  gather(table: Tensor, indices: Tensor): Tensor {
    return this.#apply('gather', [table, indices], {});
  }

  /**
   * A matrix of zeros that has the rows at their indices, which must all be different. Shapes: rows [n, width], indices
   * [n] → [count, width].
   */
  placeRows(rows: Tensor, indices: Tensor, count: number): Tensor {
    return this.#apply('placeRows', [rows, indices], { count });
  }

  /**
   * As many rows of a table as x has, from row `first` on: table [rows, …rest], x [n, …] → [n, …rest]. Only for
   * inference: it has no gradient.
   */
  firstRows(table: Tensor, x: Tensor, first = 0): Tensor {
    return this.#apply('firstRows', [table, x], { first });
  }

  /** The sum over axes, which are dropped or kept with the size 1. Negative axes count from the end. */
  reduceSum(x: Tensor, axes: readonly number[], keepDimensions = false): Tensor {
    return this.#apply('reduceSum', [x], { axes, keepDimensions });
  }

  /** The sum of each column: [rows, columns] → [columns]. */
  columnSum(x: Tensor): Tensor {
    return this.#apply('columnSum', [x], {});
  }

  /** x repeated to a larger shape by broadcasting. */
  expand(x: Tensor, shape: Shape): Tensor {
    return this.#apply('expand', [x], { shape });
  }

  /** The same elements in the same order, in another shape. */
  reshape(x: Tensor, shape: Shape): Tensor {
    return this.#apply('reshape', [x], { shape });
  }

  /** Merges all axes but the last: [tokens, batch, width] → [tokens*batch, width]. */
  flattenRows(x: Tensor): Tensor {
    return this.reshape(x, [mergeDimensions(x.shape.slice(0, -1)), ...x.shape.slice(-1)]);
  }

  /** Axis i of the result is axis permutation[i] of x. */
  transpose(x: Tensor, permutation: readonly number[]): Tensor {
    return this.#apply('transpose', [x], { permutation });
  }

  /** The part of x with from ≤ index < to along an axis of fixed size, counted from the first. */
  slice(x: Tensor, axis: number, from: number, to: number): Tensor {
    return this.#apply('slice', [x], { axis, from, to });
  }

  /** Tensors one after the other along an axis, counted from the first, on which each has a fixed size. */
  concat(tensors: Several, axis: number): Tensor {
    return this.#apply('concat', tensors, { axis });
  }

  /** y[…, i, j] = x[…, i, n + j − i]: by distance to by position. Shapes: x […, n, 2n] → […, n, n]. */
  relativeToAbsolute(x: Tensor): Tensor {
    return this.#apply('relativeToAbsolute', [x], {});
  }

  /** The transpose of {@link Graph.relativeToAbsolute}: y[…, i, n + j − i] = x[…, i, j], and 0 elsewhere. */
  absoluteToRelative(x: Tensor): Tensor {
    return this.#apply('absoluteToRelative', [x], {});
  }

  /** The int64 numbers −n, … n − 1 of the n rows of x. */
  rowDistances(x: Tensor): Tensor {
    return this.#apply('rowDistances', [x], {});
  }

  /** The int64 numbers 0, 1, … n − 1 of the n rows of x. */
  rowNumbers(x: Tensor): Tensor {
    return this.#apply('rowNumbers', [x], {});
  }

  /** x in another element type. */
  cast(x: Tensor, type: ElementType): Tensor {
    return this.#apply('cast', [x], { type });
  }

  #apply<Name extends OperationName>(
    operation: Name,
    inputs: Signatures[Name]['inputs'],
    attributes: Signatures[Name]['attributes'],
  ): Tensor {
    const outputs: Tensor[] = [];
    const node = createNode({ operation, inputs, attributes, outputs });
    operations[operation].describe(inputs, attributes).forEach(({ shape, type }, output) => {
      const name = this.#freshName(operation);
      outputs.push(this.#tensor(name, type ?? inputs[0].type, shape, { kind: 'node', node, output }));
    });
    return outputAt(outputs, 0);
  }

  #freshName(stem: string): string {
    this.#unnamed += 1;
    return `${stem}.${this.#unnamed}`;
  }

  #tensor(name: string, type: ElementType, shape: Shape, source: TensorSource): Tensor {
    if (this.#names.has(name)) throw new ShapeError(`the graph already has a tensor ${name}`);
    this.#names.add(name);
    return { name, type, shape, source };
  }
}

/**
 * The gradient of one parameter: dense (a tensor of its shape), sparse (rows to be summed into such a tensor), or both.
 */
export interface ParameterGradient {
  readonly parameter: Tensor;
  readonly dense: Tensor | undefined;
  readonly rows: readonly RowGradient[];
}

/** Adds ∂loss/∂parameter for every parameter that the loss depends on. @param trainable names. Default: all. */
export function addGradients(graph: Graph, loss: Tensor, trainable?: ReadonlySet<string>): ParameterGradient[] {
  if (loss.shape.length !== 0) throw new ShapeError('the loss must be a scalar');
  const isTrainable = ({ name, source }: Tensor) => source.kind === 'parameter' && (trainable?.has(name) ?? true);
  const pending = new PendingGradients(graph);
  pending.add(loss, graph.constant([1], []));
  for (const node of nodesBackFrom(loss, isTrainable)) {
    const [output] = node.outputs;
    const outputGradient = output && pending.take(output);
    if (outputGradient === undefined) continue;
    const gradients = node.visit((typed) => operations[typed.operation].gradient({ ...typed, graph, outputGradient }));
    for (const [index, input] of node.inputs.entries()) pending.add(input, gradients[index]);
  }
  return graph.parameters.filter(isTrainable).flatMap((parameter) => {
    const dense = pending.take(parameter);
    const rows = pending.rows(parameter);
    return dense === undefined && rows.length === 0 ? [] : [{ parameter, dense, rows }];
  });
}

/** The nodes that lead from trainable parameters to a tensor, consumers before producers. */
function nodesBackFrom(tensor: Tensor, isTrainable: (parameter: Tensor) => boolean): Node[] {
  const leadsFromParameter = new Map<Node, boolean>();
  const order: Node[] = [];
  const visit = (reached: Tensor): boolean => {
    if (reached.source.kind === 'parameter') return isTrainable(reached);
    if (reached.source.kind !== 'node') return false;
    const { node } = reached.source;
    const known = leadsFromParameter.get(node);
    if (known !== undefined) return known;
    const leads = node.inputs.map(visit).includes(true);
    leadsFromParameter.set(node, leads);
    if (leads) order.push(node);
    return leads;
  };
  visit(tensor);
  return order.reverse();
}

class PendingGradients {
  readonly #dense = new Map<Tensor, Tensor>();
  readonly #rows = new Map<Tensor, RowGradient[]>();
  readonly #parts = new Map<Tensor, PartGradient[]>();

  readonly #graph: Graph;

  constructor(graph: Graph) {
    this.#graph = graph;
  }

  take(tensor: Tensor): Tensor | undefined {
    const parts = this.#parts.get(tensor);
    if (parts !== undefined) {
      this.#parts.delete(tensor);
      for (const whole of wholeOf(this.#graph, tensor.shape, parts)) this.add(tensor, whole);
    }
    return this.#dense.get(tensor);
  }

  rows(parameter: Tensor): readonly RowGradient[] {
    return this.#rows.get(parameter) ?? [];
  }

  add(tensor: Tensor, gradient: InputGradient): void {
    if (gradient === undefined || tensor.source.kind === 'constant' || tensor.source.kind === 'input') return;
    if ('kind' in gradient) {
      if (gradient.kind === 'rows') this.#addRows(tensor, gradient);
      else this.#parts.set(tensor, [...(this.#parts.get(tensor) ?? []), gradient]);
      return;
    }
    if (!sameShape(tensor.shape, gradient.shape) && tensor.shape.length > 0) {
      throw new ShapeError(`gradient [${gradient.shape.join(', ')}] of ${tensor.name} [${tensor.shape.join(', ')}]`);
    }
    const earlier = this.#dense.get(tensor);
    this.#dense.set(tensor, earlier === undefined ? gradient : this.#sum(earlier, gradient));
  }

  #addRows(tensor: Tensor, gradient: RowGradient): void {
    if (tensor.source.kind !== 'parameter') throw new ShapeError('only a parameter can have a sparse gradient');
    this.#rows.set(tensor, [...this.rows(tensor), gradient]);
  }

  #sum(earlier: Tensor, gradient: Tensor): Tensor {
    if (gradient.source.kind !== 'node') return this.#graph.add(earlier, gradient);
    return gradient.source.node.visit(
      (node) => operations[node.operation].plus?.(this.#graph, node, earlier) ?? this.#graph.add(earlier, gradient),
    );
  }
}

/** Tensors whose sum is the gradient: parts that don't overlap become one, in a single pass over memory. */
function wholeOf(graph: Graph, shape: Shape, parts: readonly PartGradient[]): Tensor[] {
  const rows: PartGradient[][] = [];
  for (const part of [...parts].sort((a, b) => a.from - b.from)) {
    const row = rows.find((each) => each.every((other) => other.axis === part.axis && endOf(other) <= part.from));
    if (row === undefined) rows.push([part]);
    else row.push(part);
  }
  return rows.map((row) => joined(graph, shape, row));
}

/** Parts along one axis, in their order, with zeros between them. */
function joined(graph: Graph, shape: Shape, parts: readonly PartGradient[]): Tensor {
  const [first] = parts;
  if (first === undefined) throw new ShapeError('a gradient has no part');
  const { axis } = first;
  const size = Number(dimensionAt(shape, axis));
  const pieces: Tensor[] = [];
  let end = 0;
  const fill = (to: number): void => {
    if (to > end) pieces.push(zeros(graph, shape, axis, to - end));
  };
  for (const part of parts) {
    fill(part.from);
    pieces.push(part.part);
    end = endOf(part);
  }
  fill(size);
  const [head, ...tail] = pieces;
  if (head === undefined) throw new ShapeError('a gradient has no part');
  return tail.length === 0 ? head : graph.concat([head, ...tail], axis);
}

function endOf({ part, axis, from }: PartGradient): number {
  return from + Number(dimensionAt(part.shape, axis));
}

function zeros(graph: Graph, shape: Shape, axis: number, size: number): Tensor {
  return graph.expand(
    graph.constant([0], []),
    shape.map((dimension, at) => (at === axis ? size : dimension)),
  );
}
