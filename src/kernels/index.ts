export { Arena } from './arena.js';
export { DOT_STEP } from './check-views.js';
export type { DropoutState } from './dropout-state.js';
export { quantizeDropoutRate } from './dropout-state.js';
export type { AdaGradArrays, AdamWArrays, AdamWScalars, IdBags, SvmProblem } from './kernel-arguments.js';
export { type Kernels, loadKernels } from './kernels.js';
