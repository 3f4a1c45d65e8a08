export { Arena } from './arena.js';
export type { DropoutState } from './dropout-state.js';
export { quantizeDropoutRate } from './dropout-state.js';
export type { AdamWArrays, AdamWScalars, Kernels, SvmProblem } from './kernels.js';
export { loadKernels } from './kernels.js';
