export type { InferenceService, Predictions } from './inference-service.js';
export { type InferenceOptions, inlineInference } from './inline-service.js';
export { lengthGroups } from './length-groups.js';
export { type PoolOptions, workerInference } from './worker-pool.js';
