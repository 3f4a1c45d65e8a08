import { err, errAsync, ok, okAsync, type Result, ResultAsync } from 'neverthrow';
import {
  type Account,
  batchQueriesSchema,
  type InferenceResponse,
  type InferenceResult,
  type InferenceUsage,
  LOCAL_ACCOUNT,
  MAX_CONCURRENT_MODELS,
  type MedleyBatchRequest,
  type MedleyRequest,
  medleyBatchRequestSchema,
  medleyRequestSchema,
  pretrainedNameSchema,
  validate,
} from '../contract/index.js';
import { ClosedError, InternalError, type MedleyError, type OrchardError, TierError } from '../errors.js';
import {
  type CallOptions,
  type Predictions,
  PretrainedModels,
  serviceOf,
  untilAborted,
} from '../inference/index.js';
import { catalogueModels } from '../model-loader/index.js';
import { askModels } from './ask-models.js';
import type { MedleyOptions } from './medley-options.js';
import { type MedleyAnswers, type ModelAnswer, medleyResponse } from './medley-response.js';

/** How a medley fails; what a MedleyError keeps is of the kind that was asked for. */
export type MedleyFailure<Answer> = Exclude<OrchardError, MedleyError> | MedleyError<Answer>;

type MedleyResult<Answer> = ResultAsync<InferenceResponse<MedleyAnswers<Answer>>, MedleyFailure<Answer>>;

/**
 * Puts the same queries to several pretrained models, of which at most two run at the same time. Where models fail, the
 * call fails with a MedleyError that names them and keeps the answers of the others. The time that a response tells is
 * what its models took together, as if they had run one after the other.
 *
 * Every call needs the pro tier, and can fail with a TierError, a ValidationError, an AbortedError when its signal
 * fires and, after `close`, a ClosedError.
 */
export class Medley implements AsyncDisposable {
  readonly #account: Account;
  readonly #models: PretrainedModels;
  #calls = 0;
  #closed = false;

  /** @throws ValidationError for an option outside its range. */
  constructor({ modelLoader, account = LOCAL_ACCOUNT, ...options }: MedleyOptions = {}) {
    this.#account = account;
    const inference = serviceOf({ workers: MAX_CONCURRENT_MODELS, ...options });
    this.#models = new PretrainedModels(modelLoader ?? catalogueModels(), inference);
  }

  /** One query to several models. */
  predict(request: MedleyRequest, options: CallOptions = {}): MedleyResult<InferenceResult> {
    return this.#open()
      .andThen(() => validate(medleyRequestSchema, request))
      .andThen(({ query, models }) => this.#ask([query], models, onlyResult, options));
  }

  /** 1 to 50 queries to several models; each model's answers are in the order of the queries. */
  predictBatch(
    request: MedleyBatchRequest,
    options: CallOptions = {},
  ): MedleyResult<readonly InferenceResult[]> {
    return this.#open()
      .andThen(() => validate(medleyBatchRequestSchema, request))
      .andThen(({ queries, models }) => this.#ask(queries, models, ({ results }) => ok(results), options));
  }

  /** 1 to 20 queries to one model, answered in their order; fails as that model does. */
  predictPretrainedBatch(
    model_name: string,
    queries: readonly string[],
    { signal }: CallOptions = {},
  ): ResultAsync<InferenceResponse<readonly InferenceResult[]>, OrchardError> {
    const ask = (name: string, valid: readonly string[]) =>
      untilAborted(() => this.#models.predict(name, valid, signal), `asking model ${name}`, signal);
    return this.#open()
      .andThen(() => validate(pretrainedNameSchema, model_name, ['model_name']))
      .andThen((name) =>
        validate(batchQueriesSchema, queries, ['queries']).asyncAndThen((valid) => ask(name, valid)),
      )
      .map(({ results, elapsedMs }) => {
        this.#calls += results.length;
        return { data: results, metadata: { model_inference_time_ms: elapsedMs } };
      });
  }

  /** What this medley has answered so far. A query to several models is one call, also where some of them failed. */
  usage(): InferenceUsage {
    return { inference_calls: this.#calls };
  }

  /** Waits for what runs and frees the models. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#models.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #open(): ResultAsync<void, ClosedError | TierError> {
    if (this.#closed) return errAsync(new ClosedError('medley'));
    return this.#account.tier === 'pro' ? okAsync(undefined) : errAsync(new TierError('the medley'));
  }

  #ask<Answer>(
    queries: readonly string[],
    names: readonly string[],
    answerOf: (predictions: Predictions) => Result<Answer, OrchardError>,
    { signal }: CallOptions,
  ): MedleyResult<Answer> {
    const ask = (name: string) =>
      this.#models
        .predict(name, queries, signal)
        .andThen((predictions) =>
          answerOf(predictions).map(
            (answer): ModelAnswer<Answer> => ({ answer, elapsedMs: predictions.elapsedMs }),
          ),
        );
    const work = () => ResultAsync.fromSafePromise(askModels(names, ask, signal));
    return untilAborted(work, `asking models ${names.join(', ')}`, signal).andThen((outcomes) => {
      if ([...outcomes.values()].some((outcome) => outcome.isOk())) this.#calls += queries.length;
      return medleyResponse(outcomes);
    });
  }
}

function onlyResult({ results: [result] }: Predictions): Result<InferenceResult, OrchardError> {
  return result === undefined ? err(new InternalError('the model gave no result')) : ok(result);
}
