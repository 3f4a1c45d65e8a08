/** The table of operations: shapes, ONNX form and gradient rule of each. */
import * as distance from './distance.js';
import * as elementwise from './elementwise.js';
import * as layout from './layout.js';
import * as matrix from './matrix.js';
import * as normalization from './normalization.js';
import type { Operation } from './operation.js';
import * as part from './part.js';
import * as reduction from './reduction.js';
import type { OperationName } from './signatures.js';

export const operations: { readonly [Name in OperationName]: Operation<Name> } = {
  ...distance,
  ...elementwise,
  ...layout,
  ...matrix,
  ...normalization,
  ...part,
  ...reduction,
};

export type { InputGradient, PartGradient, RowGradient } from './operation.js';
export type {
  BatchMatMulAttributes,
  Binary,
  GemmAttributes,
  NoAttributes,
  OperationName,
  Several,
  Signatures,
  SliceAttributes,
  Ternary,
  Unary,
} from './signatures.js';
