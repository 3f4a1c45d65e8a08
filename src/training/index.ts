export type { AdamWOptions, AdamWState, Moments, StepOptions } from './adamw-optimizer.js';
export { AdamWOptimizer } from './adamw-optimizer.js';
export type { LinearSchedule } from './learning-rate-schedule.js';
export { linearLearningRate } from './learning-rate-schedule.js';
export type { LengthBatchOptions } from './length-batches.js';
export { lengthBatches } from './length-batches.js';
export type {
  Parameter,
  ParameterDefinition,
  ParameterRegion,
  ParameterStoreOptions,
} from './parameter-store.js';
export { ParameterStore } from './parameter-store.js';
