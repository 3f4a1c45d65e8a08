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

/** What a gradient rule is given: the node, and ∂loss/∂(its first output); no rule needs that of a further one. */
export interface GradientContext<Name extends OperationName> extends NodeOf<Name> {
  readonly graph: Graph;
  readonly outputGradient: Tensor;
}

/**
 * The gradient of a table of which only some rows were read: row i of `rows`, flattened to
 * [number of indices, width], belongs to row `indices[i]` of the table. It is summed into the table outside
 * the graph, which is cheaper than a scatter inside it.
 */
export interface RowGradient {
  readonly kind: 'rows';
  readonly rows: Tensor;
  readonly indices: Tensor;
}

export type InputGradient = Tensor | RowGradient | undefined;

/** Everything about one operation in one place. */
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
  /** ∂loss/∂input for each input; undefined where there is none. Unused ones are never computed. */
  gradient(context: GradientContext<Name>): readonly InputGradient[];
  /** The result plus `addend`, where the operation can add it on its way at no cost. */
  plus?(graph: Graph, node: NodeOf<Name>, addend: Tensor): Tensor | undefined;
}
