import * as z from 'zod';
import { validate } from '../contract/index.js';
import type { RequestOptions } from './inference-service.js';

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
