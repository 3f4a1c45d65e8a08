import type { ResultAsync } from 'neverthrow';
import * as z from 'zod';
import {
  AbortedError,
  callResult,
  type InferenceMetadata,
  type InferenceResponse,
  InternalError,
  LOCAL_ACCOUNT,
  type OrchardError,
  requireOptions,
  signalSchema,
  toOrchardError,
  validate,
} from '../contract/index.js';
import type { Explanation, JudgedResult } from '../families/index.js';
import type { ModelLoader } from '../models/index.js';
import { onAbort } from '../system/index.js';
import { askableFolder } from '../training/index.js';
import type { InferenceService, Predictions, RequestOptions } from './inference-service.js';

/** Options of one call of a Predictor, Medley or Model. */
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
   * Whether results include `none_of_these` (of a Model: `noneOfThese`), which says that perhaps none of the model's
   * labels fits the query. Fails with a ValidationError if the model has no threshold for it; only classifiers have
   * one. Default false.
   */
  readonly noneOfThese?: boolean | undefined;
  /** Whether the rules of the model apply, if it has any (docs/rules.md). Default true. */
  readonly rules?: boolean | undefined;
}

/** Options of a call whose answer is explained. */
export interface ExplainOptions extends CallOptions {
  /** Classification only: the label to explain. Default: the most probable one. */
  readonly label?: string | undefined;
}

/** Options of a stream of queries. */
export interface StreamOptions extends CallOptions {
  /**
   * Maximum number of queries that are read but not answered yet. It bounds the memory of a stream and should be enough
   * to keep the threads busy. Default 128.
   */
  readonly inFlight?: number | undefined;
}

/** The longest time that Node's timers take: 24 days. */
export const MAX_TIMER_MS = 2 ** 31 - 1;
const callShape = {
  signal: signalSchema.optional(),
  deadlineMs: z.number().positive().max(MAX_TIMER_MS).optional(),
  noneOfThese: z.boolean().optional(),
  rules: z.boolean().optional(),
};

/** {@link CallOptions} */
export const callSchema = z.strictObject(callShape);
/** {@link ExplainOptions} */
export const explainSchema = z.strictObject({ ...callShape, label: z.string().optional() });
const streamSchema = z.strictObject({ ...callShape, inFlight: z.int().min(1).max(100_000).default(128) });

/** @returns the options of the stream itself, and those of each call. @throws ValidationError */
export function streamOptions(options: StreamOptions): { readonly inFlight: number; readonly each: CallOptions } {
  const { inFlight, ...each } = validate(streamSchema, requireOptions(options, '`{ inFlight }`'));
  return { inFlight, each };
}

/**
 * What a service is asked for.
 * @param options checked ones. @param account default: the local one, of models that an application opens for itself.
 */
export function requestOptions(options: CallOptions, account = LOCAL_ACCOUNT.app_id): RequestOptions {
  const { signal, deadlineMs, noneOfThese, rules } = options;
  return {
    ...{ signal, account, noneOfThese },
    ...(rules === false && { rules }),
    ...(deadlineMs !== undefined && { deadlineMs }),
  };
}

export function explainRequest({ label, ...options }: ExplainOptions, account?: string): RequestOptions {
  return { ...requestOptions(options, account), explain: { label } };
}

/**
 * Runs a call of a public class; an exception becomes the error of its result. When the signal fires, the result is an
 * AbortedError at once; work that already runs is finished and its result discarded.
 * @param schema of the options, which are checked first.
 * @param work not started if the signal has fired already.
 */
export function toResult<Options extends { readonly signal?: AbortSignal | undefined }, Value>(
  operation: string,
  schema: z.ZodType<Options>,
  options: unknown,
  work: (options: Options) => Promise<Value>,
): ResultAsync<Value, OrchardError> {
  const checked = async () => {
    const given = validate(schema, requireOptions(options, '`{ signal }`'));
    return given.signal ? untilAborted(operation, given.signal, () => work(given)) : work(given);
  };
  return callResult(checked(), operation);
}

/** @throws AbortedError as soon as the signal fires, and what the work throws */
export async function untilAborted<Value>(
  operation: string,
  signal: AbortSignal,
  work: () => Promise<Value>,
): Promise<Value> {
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

/** Predictions, and which model made them if it was asked by a name. */
export type Answered = Predictions & { readonly model_id?: string };

export function queryResponse(predictions: Answered): InferenceResponse<JudgedResult> {
  return { data: resultOf(predictions), metadata: metadataOf(predictions) };
}

/** The result of the only text. */
export function resultOf({ results: [result] }: Predictions): JudgedResult {
  if (result === undefined) throw new InternalError('the model gave no result');
  return result;
}

export function explanationResponse({ results, ...rest }: Answered): InferenceResponse<Explanation> {
  const { explained, ...result } = results[0] ?? { labels: [], scores: [] };
  if (explained === undefined) throw new InternalError('the model gave no explanation');
  return { data: { ...result, explained }, metadata: metadataOf(rest) };
}

export function batchResponse({ results, ...rest }: Answered): InferenceResponse<readonly JudgedResult[]> {
  return { data: results, metadata: metadataOf(rest) };
}

function metadataOf({ elapsedMs, truncated, model_id }: Omit<Answered, 'results'>): InferenceMetadata {
  return {
    model_inference_time_ms: elapsedMs,
    ...(truncated.length > 0 && { truncated }),
    ...(model_id !== undefined && { model_id }),
  };
}

/** Runs models by name; a loader finds their files. */
export class PretrainedModels {
  /** Folders of the models used so far: a loader may have to ask a server each time. */
  readonly #directories = new Map<string, string>();
  readonly #closing = new AbortController();

  readonly #loader: ModelLoader;
  readonly #inference: InferenceService;

  constructor(loader: ModelLoader, inference: InferenceService) {
    this.#loader = loader;
    this.#inference = inference;
  }

  async predict(name: string, queries: readonly string[], options: RequestOptions = {}): Promise<Predictions> {
    const directory = this.#directories.get(name) ?? (await this.#load(name, options.signal));
    return this.#inference.predict(directory, queries, options);
  }

  async warm(name: string, signal: AbortSignal | undefined): Promise<void> {
    await this.#inference.warm(this.#directories.get(name) ?? (await this.#load(name, signal)));
  }

  close(): void {
    this.#closing.abort();
  }

  async #load(name: string, signal: AbortSignal | undefined): Promise<string> {
    const closing = this.#closing.signal;
    const stop = signal === undefined ? closing : AbortSignal.any([closing, signal]);
    try {
      const found = await this.#loader.load(name, { signal: stop });
      const { directory } = await askableFolder({ name, directory: found.directory });
      this.#directories.set(name, directory);
      return directory;
    } catch (thrown) {
      throw toOrchardError(thrown, `loading model ${name}`);
    }
  }
}
