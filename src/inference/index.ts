export { answerStream, isQueries, type Queries, type StreamedAnswer } from './answer-stream.js';
export { answered } from './answered.js';
export {
  type CallOptions,
  type ExplainOptions,
  explainRequest,
  requestOptions,
  type StreamOptions,
} from './call-options.js';
export type { RequestTrace, StageTrace } from './channels.js';
export { implementation } from './implementation.js';
export type { InferenceService, Predictions, RequestOptions } from './inference-service.js';
export type { InferenceStats, ModelStats, WorkerStats } from './inference-stats.js';
export type { StageTimes } from './lane.js';
export { listDevices } from './list-devices.js';
export type { MemoryStats } from './model-memory.js';
export { PretrainedModels } from './pretrained-models.js';
export { batchResponse, explanationResponse, queryResponse } from './responses.js';
export {
  createService,
  inferenceService,
  type RunOptions,
  runSchema,
  type ServiceOptions,
} from './service-options.js';
export { TextModel } from './text-model.js';
