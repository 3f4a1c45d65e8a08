export { Arena } from './arena.js';
export { type DropoutState, quantizeDropoutRate } from './dropout-state.js';
export {
  type AdaGradArrays,
  type AdamWArrays,
  type AdamWScalars,
  DOT_STEP,
  type IdBags,
  type Kernels,
  loadKernels,
  type SvmProblem,
} from './kernels.js';
