export type { InferenceService, Predictions } from './inference-service.js';
export { type InferenceOptions, inlineInference } from './inline-service.js';
export { lengthGroups } from './length-groups.js';
export { PretrainedModels } from './pretrained-models.js';
export { inferenceService, type RunOptions, type ServiceOptions, serviceOf } from './service-options.js';
export { type CallOptions, untilAborted } from './until-aborted.js';
export { type PoolOptions, workerInference } from './worker-pool.js';
