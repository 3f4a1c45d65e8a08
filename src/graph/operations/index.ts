/** The table of operations: shapes, ONNX form and gradient rule of each. */
import * as elementwise from './elementwise.js';
import * as layout from './layout.js';
import * as matrix from './matrix.js';
import * as normalization from './normalization.js';
import type { Operation } from './operation.js';
import * as reduction from './reduction.js';
import type { OperationName } from './signatures.js';

export const operations: { readonly [Name in OperationName]: Operation<Name> } = {
  ...elementwise,
  ...layout,
  ...matrix,
  ...normalization,
  ...reduction,
};

export type { InputGradient, RowGradient } from './operation.js';
export type {
  BatchMatMulAttributes,
  Binary,
  GemmAttributes,
  NoAttributes,
  OperationName,
  Signatures,
  Ternary,
  Unary,
} from './signatures.js';
