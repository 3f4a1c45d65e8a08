import type { Graph } from './graph.js';
import type { PartGradient } from './operations/index.js';
import { dimensionAt, type Shape, ShapeError } from './shape.js';
import type { Tensor } from './tensor.js';

/**
 * Gradients of a whole tensor from those of its parts: parts that don't overlap become one tensor, so that the usual
 * case, a tensor cut into parts, is a single pass over memory.
 * @returns tensors of the shape, whose sum is the gradient.
 */
export function wholeOf(graph: Graph, shape: Shape, parts: readonly PartGradient[]): Tensor[] {
  const rows: PartGradient[][] = [];
  for (const part of [...parts].sort((a, b) => a.from - b.from)) {
    const row = rows.find((each) =>
      each.every((other) => other.axis === part.axis && endOf(other) <= part.from),
    );
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
