export { answerStream, isQueries, type Queries, type StreamedAnswer } from './answer-stream.js';
export { toResult } from './answered.js';
export { askFolder, type OpenOptions, serviceFor } from './ask-folder.js';
export {
  type CallOptions,
  type ExplainOptions,
  explainRequest,
  type StreamOptions,
} from './call-options.js';
export type { RequestTrace, StageTrace } from './channels.js';
export type { InferenceService, Predictions, RequestOptions } from './inference-service.js';
export type { InferenceStats, ModelStats, WorkerStats } from './inference-stats.js';
export type { StageTimes } from './lane.js';
export { listDevices } from './list-devices.js';
export { Medley, type MedleyFailure, type MedleyResult } from './medley.js';
export type { MedleyOptions } from './medley-options.js';
export type { MedleyAnswers } from './medley-response.js';
export type { MemoryStats } from './model-memory.js';
export { type BatchPredictionResult, type ExplanationResult, type PredictionResult, Predictor } from './predictor.js';
export type { PredictorOptions } from './predictor-options.js';
export { explanationResponse, queryResponse } from './responses.js';
export { inferenceService, type RunOptions, type ServiceOptions } from './service-options.js';
export { TextModel } from './text-model.js';
