import type { OperationName, Signatures } from './operations/signatures.js';
import { ShapeError } from './shape.js';
import type { Tensor } from './tensor.js';

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
