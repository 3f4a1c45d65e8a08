import { err, errAsync, ok, okAsync, ResultAsync } from 'neverthrow';
import {
  type Account,
  batchQueriesSchema,
  type InferenceResponse,
  type InferenceResult,
  LOCAL_ACCOUNT,
  querySchema,
  validate,
} from '../contract/index.js';
import { ClosedError, InternalError, type OrchardError, TierError, toOrchardError } from '../errors.js';
import { type InferenceService, inlineInference, workerInference } from '../inference/index.js';
import { JobRepository, readyModel } from '../jobs/index.js';
import type { Storage } from '../storage/index.js';
import { DEFAULT_MAX_MODEL_BYTES, type PredictorOptions } from './predictor-options.js';

/** Answers queries with trained models. Models are loaded on first use and kept while memory allows. */
export class Predictor implements AsyncDisposable {
  readonly #storage: Storage;
  readonly #account: Account;
  readonly #jobs: JobRepository;
  readonly #inference: InferenceService;
  #closed = false;

  constructor({ storage, account = LOCAL_ACCOUNT, ...options }: PredictorOptions) {
    const { isolation = 'worker', workers = 1, threads = 1 } = options;
    const { maxModelBytes = DEFAULT_MAX_MODEL_BYTES } = options;
    this.#storage = storage;
    this.#account = account;
    this.#jobs = new JobRepository(storage, account.app_id);
    this.#inference =
      isolation === 'inline'
        ? inlineInference({ maxModelBytes, threads })
        : workerInference({ workers, maxModelBytes, threads });
  }

  /**
   * One query to a custom model. Fails with a NotFoundError for an unknown or deleted id, and with a
   * ModelNotReadyError until the model's status is READY.
   */
  predictCustom(
    model_id: string,
    query: string,
  ): ResultAsync<InferenceResponse<InferenceResult>, OrchardError> {
    return this.#open()
      .andThen(() => validate(querySchema, query, ['query']))
      .andThen((valid) => this.#predict(model_id, [valid]))
      .andThen(({ data: [result], metadata }) =>
        result === undefined
          ? err(new InternalError(`model ${model_id} gave no result`))
          : ok({ data: result, metadata }),
      );
  }

  /** 1 to 20 queries to a custom model, answered in their order. Needs the pro tier. */
  predictCustomBatch(
    model_id: string,
    queries: readonly string[],
  ): ResultAsync<InferenceResponse<readonly InferenceResult[]>, OrchardError> {
    return this.#open()
      .andThen(() => (this.#account.tier === 'pro' ? ok(undefined) : err(new TierError('batch inference'))))
      .andThen(() => validate(batchQueriesSchema, queries, ['queries']))
      .andThen((valid) => this.#predict(model_id, valid));
  }

  /** Waits for what runs and frees the models. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#inference.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #open(): ResultAsync<void, OrchardError> {
    return this.#closed ? errAsync(new ClosedError('predictor')) : okAsync(undefined);
  }

  #predict(
    model_id: string,
    queries: readonly string[],
  ): ResultAsync<InferenceResponse<readonly InferenceResult[]>, OrchardError> {
    return this.#folderOf(model_id)
      .andThen((directory) => this.#inference.predict(directory, queries))
      .map(({ results, elapsedMs }) => ({ data: results, metadata: { model_inference_time_ms: elapsedMs } }));
  }

  /** Where the files of a READY model of this account are. */
  #folderOf(model_id: string): ResultAsync<string, OrchardError> {
    return ResultAsync.fromPromise(
      readyModel(model_id, this.#jobs, this.#storage).then(({ directory }) => directory),
      (thrown) => toOrchardError(thrown, `looking up model ${model_id}`),
    );
  }
}
