import * as distance from './distance.js';
import * as elementwise from './elementwise.js';
import * as layout from './layout.js';
import * as matrix from './matrix.js';
import type { Operation, OperationName } from './operation.js';
import * as reduction from './reduction.js';

/** The table of operations: shapes, ONNX form and gradient rule of each. */

export const operations: { readonly [Name in OperationName]: Operation<Name> } = {
  ...distance,
  ...elementwise,
  ...layout,
  ...matrix,
  ...reduction,
};
