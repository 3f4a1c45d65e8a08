import type { InferenceResponse, InferenceResult } from '../contract/index.js';
import { InternalError } from '../errors.js';
import type { Predictions } from './inference-service.js';

/** The response to one query. @throws InternalError if the model gave no result */
export function queryResponse({ results, elapsedMs }: Predictions): InferenceResponse<InferenceResult> {
  const [result] = results;
  if (result === undefined) throw new InternalError('the model gave no result');
  return { data: result, metadata: { model_inference_time_ms: elapsedMs } };
}

/** The response to a batch. */
export function batchResponse({
  results,
  elapsedMs,
}: Predictions): InferenceResponse<readonly InferenceResult[]> {
  return { data: results, metadata: { model_inference_time_ms: elapsedMs } };
}
