import type { Node } from './node.js';
import type { Shape } from './shape.js';

/** What the numbers of a tensor are. */
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
  /** What gives its numbers. */
  readonly source: TensorSource;
}
