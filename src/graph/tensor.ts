import type { Node } from './node.js';
import type { Shape } from './shape.js';

export type ElementType = 'float32' | 'int32' | 'int64';

/** Where a tensor of the graph comes from. */
export type TensorSource =
  | { readonly kind: 'input' }
  | { readonly kind: 'parameter' }
  | { readonly kind: 'constant'; readonly values: readonly number[] }
  | { readonly kind: 'node'; readonly node: Node; readonly output: number };

/** A value of the graph, known by name, element type and shape; it holds no numbers until the graph runs. */
export interface Tensor {
  readonly name: string;
  readonly type: ElementType;
  readonly shape: Shape;
  readonly source: TensorSource;
}
