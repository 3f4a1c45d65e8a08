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

/** Options of one call of a Predictor or Medley. */
export interface CallOptions {
  /**
   * Aborts the call, and the loading of a model that it waits for. Waiting texts leave the queue; the rest of a running
   * batch is not computed.
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * Milliseconds that the call may wait and run once its model is found. After that it fails with a DeadlineError, and the
   * rest of it is not computed. Default: no limit.
   */
  readonly deadlineMs?: number | undefined;
  /**
   * Whether results say, as `none_of_these`, that the model's labels may not fit the query. Fails with a ValidationError if
   * the model has no threshold for it; only classifiers have one. Default false.
   */
  readonly noneOfThese?: boolean | undefined;
}

/** Options of a call whose answer is explained. */
export interface ExplainOptions extends CallOptions {
  /** Classification only: the label to explain. Default: the most probable one. */
  readonly label?: string | undefined;
}

/** Options of a stream of queries. */
export interface StreamOptions extends CallOptions {
  /**
   * Most queries that are read but not answered yet. It bounds the memory of a stream and should be enough to keep the
   * threads busy. Default 128.
   */
  readonly inFlight?: number | undefined;
}

/** The longest time that Node's timers take: 24 days. */
const MAX_TIMER_MS = 2 ** 31 - 1;
const deadlineSchema = z.number().positive().max(MAX_TIMER_MS);
const noneSchema = z.boolean().optional();
const inFlightSchema = z.int().min(1).max(100_000).default(128);

export function requestOptions({ signal, deadlineMs, ...options }: CallOptions, account: string): RequestOptions {
  const noneOfThese = validate(noneSchema, options.noneOfThese, ['noneOfThese']);
  if (deadlineMs === undefined) return { signal, account, noneOfThese };
  return { signal, account, noneOfThese, deadlineMs: validate(deadlineSchema, deadlineMs, ['deadlineMs']) };
}

const labelSchema = z.string().optional();

export function explainRequest(options: ExplainOptions, account: string): RequestOptions {
  const label = validate(labelSchema, options.label, ['label']);
  return { ...requestOptions(options, account), explain: { label } };
}

export function inFlightOf({ inFlight }: StreamOptions): number {
  return validate(inFlightSchema, inFlight, ['inFlight']);
}

/**
 * Runs a call of a public class; an exception becomes the error of its result. When the signal fires, the result is an
 * AbortedError at once; work that already runs is finished and its result discarded.
 * @param work not started if the signal has fired already.
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

export function queryResponse({ results, ...rest }: Predictions): InferenceResponse<JudgedResult> {
  const [result] = results;
  if (result === undefined) throw new InternalError('the model gave no result');
  return { data: result, metadata: metadataOf(rest) };
}

export function explanationResponse({ results, ...rest }: Predictions): InferenceResponse<Explanation> {
  const { explained, ...result } = results[0] ?? { labels: [], scores: [] };
  if (explained === undefined) throw new InternalError('the model gave no explanation');
  return { data: { ...result, explained }, metadata: metadataOf(rest) };
}

export function batchResponse({ results, ...rest }: Predictions): InferenceResponse<readonly JudgedResult[]> {
  return { data: results, metadata: metadataOf(rest) };
}

function metadataOf({ elapsedMs, truncated }: Omit<Predictions, 'results'>): InferenceMetadata {
  return { model_inference_time_ms: elapsedMs, ...(truncated.length > 0 && { truncated }) };
}
