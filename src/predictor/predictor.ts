import { err, errAsync, ok, okAsync, ResultAsync } from 'neverthrow';
import {
  type Account,
  batchQueriesSchema,
  type InferenceResponse,
  type InferenceResult,
  type InferenceUsage,
  LOCAL_ACCOUNT,
  pretrainedNameSchema,
  querySchema,
  validate,
} from '../contract/index.js';
import { ClosedError, InternalError, type OrchardError, TierError, toOrchardError } from '../errors.js';
import {
  type CallOptions,
  type InferenceService,
  type Predictions,
  PretrainedModels,
  serviceOf,
  untilAborted,
} from '../inference/index.js';
import { ReadyModels } from '../jobs/index.js';
import { catalogueModels } from '../model-loader/index.js';
import type { PredictorOptions } from './predictor-options.js';

type OneResponse = ResultAsync<InferenceResponse<InferenceResult>, OrchardError>;
type BatchResponse = ResultAsync<InferenceResponse<readonly InferenceResult[]>, OrchardError>;
type Ask = (queries: readonly string[]) => ResultAsync<Predictions, OrchardError>;

/**
 * Answers queries with trained models. Models are loaded on first use and kept while memory allows.
 *
 * Every call can fail with a ValidationError, an AbortedError when its signal fires and, after `close`, a ClosedError;
 * batches need the pro tier, and fail with a TierError without it.
 */
export class Predictor implements AsyncDisposable {
  readonly #account: Account;
  readonly #ready: ReadyModels;
  readonly #inference: InferenceService;
  readonly #pretrained: PretrainedModels;
  #calls = 0;
  #closed = false;

  /** @throws ValidationError for an option outside its range. */
  constructor({ storage, modelLoader, account = LOCAL_ACCOUNT, ...options }: PredictorOptions) {
    this.#account = account;
    this.#ready = new ReadyModels(storage, account.app_id);
    this.#inference = serviceOf(options);
    this.#pretrained = new PretrainedModels(modelLoader ?? catalogueModels(), this.#inference);
  }

  /**
   * One query to a custom model. Fails with a NotFoundError for an unknown or deleted id, and with a
   * ModelNotReadyError until the model's status is READY. That another process deletes it is noticed within a second.
   */
  predictCustom(model_id: string, query: string, options?: CallOptions): OneResponse {
    return this.#one(query, this.#custom(model_id, options));
  }

  /** 1 to 20 queries to a custom model, answered in their order. */
  predictCustomBatch(model_id: string, queries: readonly string[], options?: CallOptions): BatchResponse {
    return this.#batch(queries, this.#custom(model_id, options));
  }

  /**
   * One query to a pretrained model. Fails with a NotFoundError that names what there is for a name that the model
   * loader doesn't know, and with a ModelDownloadError where the loader fetches models and can't.
   */
  predictPretrained(model_name: string, query: string, options?: CallOptions): OneResponse {
    return this.#one(query, this.#named(model_name, options));
  }

  /** 1 to 20 queries to a pretrained model, answered in their order. */
  predictPretrainedBatch(
    model_name: string,
    queries: readonly string[],
    options?: CallOptions,
  ): BatchResponse {
    return this.#batch(queries, this.#named(model_name, options));
  }

  /** What this predictor has answered so far. */
  usage(): InferenceUsage {
    return { inference_calls: this.#calls };
  }

  /** Waits for what runs and frees the models. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#pretrained.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #custom(id: string, { signal }: CallOptions = {}): Ask {
    const ask: Ask = (queries) =>
      this.#folderOf(id).andThen((directory) =>
        this.#inference.predict(directory, queries).orElse((error) => this.#unlessGone(id, error)),
      );
    return (queries) => untilAborted(() => ask(queries), `asking model ${id}`, signal);
  }

  #named(name: string, { signal }: CallOptions = {}): Ask {
    const ask: Ask = (queries) =>
      validate(pretrainedNameSchema, name, ['model_name']).asyncAndThen((valid) =>
        this.#pretrained.predict(valid, queries, signal),
      );
    return (queries) => untilAborted(() => ask(queries), `asking model ${name}`, signal);
  }

  #one(query: string, ask: Ask): OneResponse {
    return this.#open()
      .andThen(() => validate(querySchema, query, ['query']))
      .andThen((valid) => this.#answer([valid], ask))
      .andThen(({ data: [result], metadata }) =>
        result === undefined
          ? err(new InternalError('the model gave no result'))
          : ok({ data: result, metadata }),
      );
  }

  #batch(queries: readonly string[], ask: Ask): BatchResponse {
    return this.#open()
      .andThen(() => (this.#account.tier === 'pro' ? ok(undefined) : err(new TierError('batch inference'))))
      .andThen(() => validate(batchQueriesSchema, queries, ['queries']))
      .andThen((valid) => this.#answer(valid, ask));
  }

  #answer(queries: readonly string[], ask: Ask): BatchResponse {
    return ask(queries).map(({ results, elapsedMs }) => {
      this.#calls += queries.length;
      return { data: results, metadata: { model_inference_time_ms: elapsedMs } };
    });
  }

  #open(): ResultAsync<void, OrchardError> {
    return this.#closed ? errAsync(new ClosedError('predictor')) : okAsync(undefined);
  }

  /** A model that failed may have been deleted by another process: that tells more than how it failed. */
  #unlessGone(model_id: string, error: OrchardError): ResultAsync<never, OrchardError> {
    this.#ready.forget(model_id);
    return this.#folderOf(model_id).andThen(() => err(error));
  }

  /** Where the files of a READY model of this account are. */
  #folderOf(model_id: string): ResultAsync<string, OrchardError> {
    return ResultAsync.fromPromise(this.#ready.directoryOf(model_id), (thrown) =>
      toOrchardError(thrown, `looking up model ${model_id}`),
    );
  }
}
