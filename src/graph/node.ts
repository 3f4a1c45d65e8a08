import type { OperationName, Signatures } from './operations/operation.js';
import { type Shape, ShapeError } from './shape.js';

/** The type of the numbers of a tensor. */
export type ElementType = 'float32' | 'int32' | 'int64';

/** Where a tensor of the graph comes from. */
export type TensorSource =
  | { readonly kind: 'input' }
  | { readonly kind: 'parameter' }
  | { readonly kind: 'constant'; readonly values: readonly number[] }
  | { readonly kind: 'node'; readonly node: Node; readonly output: number };

/** A value of the graph: its name, element type and shape. It has no numbers until the graph runs. */
export interface Tensor {
  /** Unique in its graph; inputs and parameters are fed by it. */
  readonly name: string;
  readonly type: ElementType;
  readonly shape: Shape;
  /** Where its numbers come from. */
  readonly source: TensorSource;
}

/** One application of an operation, with that operation's types. */
export interface NodeOf<Name extends OperationName> {
  readonly operation: Name;
  /** The operands, in the order of the `Graph` method. */
  readonly inputs: Signatures[Name]['inputs'];
  /** All of them, defaults filled in. */
  readonly attributes: Signatures[Name]['attributes'];
  /** The result first; gaussianGate and layerNorm have further outputs, which their gradients use. */
  readonly outputs: readonly Tensor[];
}

/** A node of any operation. `visit` passes it on with its own operation's types. */
export interface Node {
  readonly operation: OperationName;
  /** The operands, in the order of the `Graph` method. */
  readonly inputs: readonly Tensor[];
  /** The result first. */
  readonly outputs: readonly Tensor[];
  /** Calls the visitor with this node. @returns what the visitor does. */
  visit<Result>(visitor: <Name extends OperationName>(node: NodeOf<Name>) => Result): Result;
}

export function createNode<Name extends OperationName>(node: NodeOf<Name>): Node {
  return { ...node, visit: (visitor) => visitor(node) };
}

/** An output of a node by its position. */
export function outputAt(outputs: readonly Tensor[], position: number): Tensor {
  const output = outputs[position];
  if (output === undefined) throw new ShapeError(`the node has no output ${position}`);
  return output;
}

/** The nodes that the outputs depend on, producers first. */
export function nodesFor(outputs: readonly Tensor[]): Node[] {
  const order = new Set<Node>();
  const visit = (tensor: Tensor): void => {
    if (tensor.source.kind !== 'node' || order.has(tensor.source.node)) return;
    tensor.source.node.inputs.forEach(visit);
    order.add(tensor.source.node);
  };
  outputs.forEach(visit);
  return [...order];
}
