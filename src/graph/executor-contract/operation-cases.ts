/**
 * Every operation on a few numbers, with results worked out by hand or by plain loops over the definition.
 */
import { elementwiseCases } from './elementwise-cases.js';
import { layoutCases } from './layout-cases.js';
import { matrixCases } from './matrix-cases.js';
import type { OperationCases } from './operation-case.js';
import { partCases } from './part-cases.js';
import { rowCases } from './row-cases.js';

export const operationCases: OperationCases = {
  ...elementwiseCases,
  ...matrixCases,
  ...rowCases,
  ...partCases,
  ...layoutCases,
};
