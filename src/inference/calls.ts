import { ResultAsync } from 'neverthrow';
import * as z from 'zod';
import {
  AbortedError,
  type InferenceMetadata,
  type InferenceResponse,
  InternalError,
  type OrchardError,
  toOrchardError,
  validate,
} from '../contract/index.js';
import type { Explanation, JudgedResult } from '../families/index.js';
import type { Predictions, RequestOptions } from './inference-service.js';
import { onAbort } from './on-abort.js';

/** Of one call of a Predictor or Medley. */
export interface CallOptions {
  /**
   * Aborts the call and the loading of a model that it waits for. What waits leaves the queue; what is left of a run
   * that has begun is not computed.
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * Milliseconds that the call may wait and run once its model is known; then it fails with a DeadlineError, and what
   * is left of it is not computed. Default: no limit.
   */
  readonly deadlineMs?: number | undefined;
  /**
   * Whether results tell, as `none_of_these`, that the model's labels may not fit the query. Fails with a ValidationError
   * where the model has no threshold for it: classifiers have one, unless an earlier release trained them. Default false.
   */
  readonly noneOfThese?: boolean | undefined;
}

/** Of a call that has an answer explained. */
export interface ExplainOptions extends CallOptions {
  /** Classification only: the label to explain. Default: the most probable one. */
  readonly label?: string | undefined;
}

/** Of a stream of queries. */
export interface StreamOptions extends CallOptions {
  /**
   * Most queries that have been read and not answered yet: enough to keep the threads busy, and all that a stream keeps
   * in memory. Default 128.
   */
  readonly inFlight?: number | undefined;
}

/** The longest time that Node's timers take: 24 days. */
const MAX_TIMER_MS = 2 ** 31 - 1;
const deadlineSchema = z.number().positive().max(MAX_TIMER_MS);
const noneSchema = z.boolean().optional();
const inFlightSchema = z.int().min(1).max(100_000).default(128);

/** @param account on whose behalf the call is. @throws ValidationError */
export function requestOptions({ signal, deadlineMs, ...told }: CallOptions, account: string): RequestOptions {
  const noneOfThese = validate(noneSchema, told.noneOfThese, ['noneOfThese']);
  if (deadlineMs === undefined) return { signal, account, noneOfThese };
  return { signal, account, noneOfThese, deadlineMs: validate(deadlineSchema, deadlineMs, ['deadlineMs']) };
}

const labelSchema = z.string().optional();

/** As {@link requestOptions}, for an answer that is to be explained. @throws ValidationError */
export function explainRequest(options: ExplainOptions, account: string): RequestOptions {
  const label = validate(labelSchema, options.label, ['label']);
  return { ...requestOptions(options, account), explain: { label } };
}

/** @throws ValidationError */
export function inFlightOf({ inFlight }: StreamOptions): number {
  return validate(inFlightSchema, inFlight, ['inFlight']);
}

/**
 * Runs a call of a public class; what is thrown beneath becomes the error of its result. When the signal
 * fires, the result is an AbortedError at once. Work that a thread has been given by then still finishes, and
 * its result is discarded.
 * @param work is not begun if the signal has fired already.
 */
export function toResult<Value>(
  operation: string,
  signal: AbortSignal | undefined,
  work: () => Promise<Value>,
): ResultAsync<Value, OrchardError> {
  const outcome = signal === undefined ? work() : untilAborted(operation, signal, work);
  return ResultAsync.fromPromise(outcome, (thrown) => toOrchardError(thrown, operation));
}

async function untilAborted<Value>(operation: string, signal: AbortSignal, work: () => Promise<Value>): Promise<Value> {
  const error = () => new AbortedError(operation, { cause: signal.reason });
  if (signal.aborted) throw error();
  let forget = () => {};
  const aborted = new Promise<never>((_, reject) => {
    forget = onAbort(signal, () => reject(error()));
  });
  try {
    return await Promise.race([work(), aborted]);
  } finally {
    forget();
  }
}

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
