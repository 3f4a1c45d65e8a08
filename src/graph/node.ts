import type { OperationName, Signatures } from './operations/signatures.js';
import { ShapeError } from './shape.js';
import type { Tensor } from './tensor.js';

/** One application of one operation, with the types that belong to it. */
export interface NodeOf<Name extends OperationName> {
  readonly operation: Name;
  readonly inputs: Signatures[Name]['inputs'];
  readonly attributes: Signatures[Name]['attributes'];
  readonly outputs: readonly Tensor[];
}

/** A node of any operation. `visit` gives it back with its own types. */
export interface Node {
  readonly operation: OperationName;
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
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
