import type { Graph } from '../graph.js';
import type { NodeOf } from '../node.js';
import type { OnnxBuilder } from '../onnx/onnx-builder.js';
import type { Shape } from '../shape.js';
import type { ElementType, Tensor } from '../tensor.js';
import type { OperationName, Signatures } from './signatures.js';

export interface OutputDescription {
  readonly shape: Shape;
  /** Default: the type of the first input. */
  readonly type?: ElementType;
}

/**
 * What a gradient rule is given: the node, and ∂loss/∂(its first output). No rule needs the gradient of a
 * further output.
 */
export interface GradientContext<Name extends OperationName> extends NodeOf<Name> {
  readonly graph: Graph;
  readonly outputGradient: Tensor;
}

/**
 * A sparse gradient: that of a table of which only some rows were read. Row i of `rows`, flattened to [number
 * of indices, width], belongs to row `indices[i]` of the table. The rows are summed into the table's gradient
 * outside the graph, which is cheaper than a scatter inside it.
 */
export interface RowGradient {
  readonly kind: 'rows';
  readonly rows: Tensor;
  readonly indices: Tensor;
}

/** The gradient of a part of a tensor, [from, from + the part's size) along an axis; that of the rest is 0. */
export interface PartGradient {
  readonly kind: 'part';
  readonly part: Tensor;
  readonly axis: number;
  readonly from: number;
}

export type InputGradient = Tensor | RowGradient | PartGradient | undefined;

/** Everything about one operation: shapes, ONNX nodes, gradient. */
export interface Operation<Name extends OperationName> {
  /** Shapes (and types) of the outputs. @throws ShapeError for inputs that do not fit. */
  describe(
    inputs: Signatures[Name]['inputs'],
    attributes: Signatures[Name]['attributes'],
  ): readonly OutputDescription[];
  /** Emits the ONNX nodes that compute `outputs` from `inputs`, both by name. */
  onnx(context: {
    readonly builder: OnnxBuilder;
    readonly node: NodeOf<Name>;
    readonly inputs: readonly string[];
    readonly outputs: readonly string[];
  }): void;
  /** ∂loss/∂input for each input; undefined if there is none. Unused ones are never computed. */
  gradient(context: GradientContext<Name>): readonly InputGradient[];
  /** The result plus `addend`; undefined if the operation can't add it at no extra cost. */
  plus?(graph: Graph, node: NodeOf<Name>, addend: Tensor): Tensor | undefined;
}
