import type { Graph } from './graph.js';
import type { Node, Tensor } from './node.js';
import { operations } from './operations/index.js';
import type { InputGradient, PartGradient, RowGradient } from './operations/operation.js';
import { dimensionAt, type Shape, ShapeError, sameShape } from './shape.js';

/**
 * The gradient of one parameter: dense (a tensor of its shape), sparse (rows to be summed into such a tensor), or both.
 */
export interface ParameterGradient {
  readonly parameter: Tensor;
  readonly dense: Tensor | undefined;
  readonly rows: readonly RowGradient[];
}

/**
 * Adds the backward pass to a graph: ∂loss/∂parameter for every parameter that the loss depends on
 * (reverse-mode differentiation: each node's rule is applied once, from the loss back to the parameters).
 * @param loss a scalar.
 * @param trainable names of the parameters to compute gradients for. Default: all.
 */
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

/**
 * Gradients of a whole tensor from those of its parts: parts that don't overlap become one tensor, so that the usual
 * case, a tensor cut into parts, is a single pass over memory.
 * @returns tensors of the shape, whose sum is the gradient.
 */
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
