export { answerStream, askAll, isQueries, lines, type Queries, type StreamedAnswer } from './answer-stream.js';
export {
  type CallOptions,
  callSchema,
  type ExplainOptions,
  explainRequest,
  explainSchema,
  explanationResponse,
  queryResponse,
  requestOptions,
  resultOf,
  type StreamOptions,
  toResult,
  untilAborted,
} from './calls.js';
export type {
  InferenceService,
  InferenceStats,
  ModelStats,
  Predictions,
  RequestOptions,
  WorkerStats,
} from './inference-service.js';
export { Medley, type MedleyAnswers, type MedleyFailure, type MedleyOptions, type MedleyResult } from './medley.js';
export { PortableModel, type ReadModelFile } from './portable-model.js';
export {
  type BatchPredictionResult,
  type ExplanationResult,
  type PredictionResult,
  Predictor,
  type PredictorOptions,
} from './predictor.js';
export {
  inferenceService,
  isNamedDevice,
  listDevices,
  type RunOptions,
  type ServiceOptions,
} from './service.js';
export { ModelHandle, type OpenOptions, openFolder } from './shared-models.js';
export { TextModel } from './text-model.js';
export type { RequestTrace, StageTrace } from './tracing.js';
export type { StageTimes } from './worker.js';
export type { MemoryStats } from './worker-pool.js';
