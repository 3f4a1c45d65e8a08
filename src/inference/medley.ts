import { err, ok, type ResultAsync } from 'neverthrow';
import * as z from 'zod';
import {
  type Account,
  batchQueriesSchema,
  ClosedError,
  type InferenceResponse,
  type InferenceResult,
  type InferenceUsage,
  InternalError,
  MAX_CONCURRENT_MODELS,
  type MedleyBatchRequest,
  MedleyError,
  type MedleyRequest,
  medleyBatchRequestSchema,
  medleyRequestSchema,
  type OrchardError,
  pretrainedNameSchema,
  type SignalOptions,
  signalOptionsSchema,
  TierError,
  toOrchardError,
  validate,
} from '../contract/index.js';
import type { ModelLoader } from '../models/index.js';
import {
  batchResponse,
  type CallOptions,
  callSchema,
  PretrainedModels,
  queryResponse,
  requestOptions,
  toResult,
} from './calls.js';
import type { InferenceService, InferenceStats, Predictions } from './inference-service.js';
import { createService, type RunOptions, requireOwnService, runSchema } from './service.js';
import { closeWhenDropped } from './shared-models.js';

/** Options of {@link Medley}. */
export interface MedleyOptions extends RunOptions {
  /** Where the models come from. Default: `catalogueModels()`. */
  readonly modelLoader?: ModelLoader;
  /** The account that asks. A medley needs the pro tier. Default: the local account, which has it. */
  readonly account?: Account;
}

const medleySchema = runSchema;

type Outcome<Answer> = { readonly answer: Answer } | { readonly failure: OrchardError };

type Outcomes<Answer> = ReadonlyMap<string, Outcome<Answer>>;

/**
 * Asks models in their order, at most two at a time; a failure does not stop the others.
 * @param signal when it fires, no further model is asked.
 * @returns the outcomes in the order of `names`.
 */
export async function askModels<Answer>(
  names: readonly string[],
  ask: (name: string) => Promise<Answer>,
  signal?: AbortSignal,
): Promise<Outcomes<Answer>> {
  const outcomes: [name: string, outcome: Outcome<Answer>][] = [];
  // Both runs take names from one iterator.
  const waiting = names.values();
  const run = async () => {
    for (const name of waiting) {
      if (signal?.aborted) return;
      try {
        outcomes.push([name, { answer: await ask(name) }]);
      } catch (thrown) {
        outcomes.push([name, { failure: toOrchardError(thrown, `asking model ${name}`) }]);
      }
    }
  };
  await Promise.all(Array.from({ length: MAX_CONCURRENT_MODELS }, run));
  return new Map(outcomes.sort(([a], [b]) => names.indexOf(a) - names.indexOf(b)));
}

/** Answers by the name of the model that gave them. */
export type MedleyAnswers<Answer> = Readonly<Record<string, Answer>>;

/** All answers and the sum of the models' times, or a MedleyError with the answers of the models that did not fail. */
function medleyResponse<Answer>(
  outcomes: Outcomes<InferenceResponse<Answer>>,
): InferenceResponse<MedleyAnswers<Answer>> | MedleyError<Answer> {
  const answers: [name: string, answer: Answer][] = [];
  const failures: [name: string, failure: OrchardError][] = [];
  const truncated = new Set<number>();
  let elapsedMs = 0;
  for (const [name, outcome] of outcomes) {
    if ('failure' in outcome) {
      failures.push([name, outcome.failure]);
    } else {
      answers.push([name, outcome.answer.data]);
      const { metadata } = outcome.answer;
      elapsedMs += metadata.model_inference_time_ms;
      for (const position of metadata.truncated ?? []) truncated.add(position);
    }
  }
  const data = Object.fromEntries(answers);
  if (failures.length > 0) return new MedleyError(data, Object.fromEntries(failures));
  const positions = [...truncated].sort((a, b) => a - b);
  return {
    data,
    metadata: { model_inference_time_ms: elapsedMs, ...(positions.length > 0 && { truncated: positions }) },
  };
}

/** How a medley fails; the answers in a MedleyError have the call's type. */
export type MedleyFailure<Answer> = Exclude<OrchardError, MedleyError> | MedleyError<Answer>;

/** The answers by the names of the models, or how the medley fails. */
export type MedleyResult<Answer> = ResultAsync<InferenceResponse<MedleyAnswers<Answer>>, MedleyFailure<Answer>>;

/**
 * Asks several pretrained models the same queries; at most two models run at a time. If models fail, the call fails with a
 * MedleyError that names them and keeps the answers of the others. The time in a response is the sum of its models' times.
 *
 * Every call needs the pro tier. It can fail with a TierError, a ValidationError, an AbortedError when its signal fires and,
 * after `close`, a ClosedError.
 */
export class Medley implements AsyncDisposable {
  readonly #account: Account;
  readonly #inference: InferenceService;
  /** Set if this medley made the service and must close it. */
  readonly #ownInference: InferenceService | undefined;
  readonly #models: PretrainedModels;
  #calls = 0;
  #closed = false;

  /** @throws ValidationError for an unknown option, or one outside its range. */
  constructor(options: MedleyOptions = {}) {
    const { account, modelLoader, inference, ...service } = validate(medleySchema, options);
    requireOwnService(options);
    this.#account = account;
    const asked = inference ?? createService(service);
    const own = inference === undefined ? asked : undefined;
    this.#inference = asked;
    this.#ownInference = own;
    this.#models = new PretrainedModels(modelLoader, this.#inference);
    closeWhenDropped(this, async () => own?.close());
  }

  /** Asks several models one query. */
  predict(request: MedleyRequest, options?: CallOptions): MedleyResult<InferenceResult> {
    const checked = () => {
      const { query, models } = validate(medleyRequestSchema, request);
      return { queries: [query], models };
    };
    return this.#ask(checked, queryResponse, options);
  }

  /** Asks several models 1 to 50 queries; each model's answers are in the order of the queries. */
  predictBatch(request: MedleyBatchRequest, options?: CallOptions): MedleyResult<readonly InferenceResult[]> {
    return this.#ask(() => validate(medleyBatchRequestSchema, request), batchResponse, options);
  }

  /** Asks one model 1 to 20 queries; answers are in the order of the queries. Fails if that model fails. */
  predictPretrainedBatch(
    model_name: string,
    queries: readonly string[],
    options: CallOptions = {},
  ): ResultAsync<InferenceResponse<readonly InferenceResult[]>, OrchardError> {
    return toResult(`asking model ${model_name}`, callSchema, options, async (checked) => {
      this.#checkOpen();
      const name = validate(pretrainedNameSchema, model_name, ['model_name']);
      const batch = validate(batchQueriesSchema, queries, ['queries']);
      return batchResponse(await this.#models.predict(name, batch, requestOptions(checked, this.#account.app_id)));
    }).andTee(({ data }) => this.#count(data.length));
  }

  /** Loads pretrained models in parallel, ahead of their first queries; fails with the first failure. */
  warm(model_names: readonly string[], options: SignalOptions = {}): ResultAsync<void, OrchardError> {
    return toResult(`loading ${model_names}`, signalOptionsSchema, options, async ({ signal }) => {
      this.#checkOpen();
      const names = validate(z.array(pretrainedNameSchema), model_names, ['model_names']);
      await Promise.all(names.map((name) => this.#models.warm(name, signal)));
    });
  }

  /** The state of the service that runs the models; a shared service counts the work of all its users. */
  stats(): InferenceStats {
    return this.#inference.stats();
  }

  /** The calls answered so far. A query to several models is one call, even if some of them failed. */
  usage(): InferenceUsage {
    return { inference_calls: this.#calls };
  }

  /** Waits for running calls, 10 s at most, and frees the models. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#models.close();
    await this.#ownInference?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #checkOpen(): void {
    if (this.#closed) throw new ClosedError('medley');
    if (this.#account.tier !== 'pro') throw new TierError('the medley');
  }

  #ask<Answer>(
    checked: () => MedleyBatchRequest,
    responseOf: (predictions: Predictions) => InferenceResponse<Answer>,
    options: CallOptions = {},
  ): MedleyResult<Answer> {
    return toResult('asking several models', callSchema, options, async (call) => {
      this.#checkOpen();
      const { queries, models } = checked();
      const request = requestOptions(call, this.#account.app_id);
      const ask = async (name: string) => responseOf(await this.#models.predict(name, queries, request));
      return { queries, outcomes: await askModels(models, ask, call.signal) };
    })
      .mapErr(withoutModels)
      .andThen(({ queries, outcomes }) => {
        if ([...outcomes.values()].some((outcome) => 'answer' in outcome)) this.#count(queries.length);
        const response = medleyResponse(outcomes);
        return response instanceof MedleyError ? err(response) : ok(response);
      });
  }

  #count(answers: number): void {
    this.#calls += answers;
  }
}

/** Narrows the type: a MedleyError is only made from outcomes, which such a call has none of. */
function withoutModels(error: OrchardError): Exclude<OrchardError, MedleyError> {
  return error.code === 'medley' ? new InternalError('a medley failed too early', { cause: error }) : error;
}
