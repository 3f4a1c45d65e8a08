export { answered, type CallOptions } from './answered.js';
export { implementation } from './implementation.js';
export type { InferenceService, Predictions } from './inference-service.js';
export { inlineInference } from './inline-service.js';
export { lengthGroups } from './length-groups.js';
export { PretrainedModels } from './pretrained-models.js';
export { batchResponse, queryResponse } from './responses.js';
export {
  createService,
  inferenceService,
  type RunOptions,
  runSchema,
  type ServiceOptions,
} from './service-options.js';
export { TextModel } from './text-model.js';
