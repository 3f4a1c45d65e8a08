import { type InferenceMetadata, type InferenceResponse, InternalError } from '../contract/index.js';
import type { Explanation, JudgedResult } from '../families/index.js';
import type { Predictions } from './inference-service.js';

/** The response to one query. @throws InternalError if the model gave no result */
export function queryResponse({ results, ...rest }: Predictions): InferenceResponse<JudgedResult> {
  const [result] = results;
  if (result === undefined) throw new InternalError('the model gave no result');
  return { data: result, metadata: metadataOf(rest) };
}

/** The response to a query that was to be explained. @throws InternalError if the model gave no explanation */
export function explanationResponse({ results, ...rest }: Predictions): InferenceResponse<Explanation> {
  const { explained, ...result } = results[0] ?? { labels: [], scores: [] };
  if (explained === undefined) throw new InternalError('the model gave no explanation');
  return { data: { ...result, explained }, metadata: metadataOf(rest) };
}

/** The response to a batch. */
export function batchResponse({ results, ...rest }: Predictions): InferenceResponse<readonly JudgedResult[]> {
  return { data: results, metadata: metadataOf(rest) };
}

function metadataOf({ elapsedMs, truncated }: Omit<Predictions, 'results'>): InferenceMetadata {
  return { model_inference_time_ms: elapsedMs, ...(truncated.length > 0 && { truncated }) };
}
