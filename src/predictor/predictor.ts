import type { ResultAsync } from 'neverthrow';
import {
  type Account,
  batchQueriesSchema,
  type InferenceResponse,
  type InferenceResult,
  type InferenceUsage,
  pretrainedNameSchema,
  querySchema,
  validate,
} from '../contract/index.js';
import { ClosedError, type OrchardError, TierError } from '../errors.js';
import {
  answered,
  batchResponse,
  type CallOptions,
  createService,
  type InferenceService,
  type Predictions,
  PretrainedModels,
  queryResponse,
} from '../inference/index.js';
import { ReadyModels } from '../jobs/index.js';
import { type PredictorOptions, predictorSchema } from './predictor-options.js';

/** The answer to one query, or how the call fails. */
export type PredictionResult = ResultAsync<InferenceResponse<InferenceResult>, OrchardError>;
/** The answers to a batch, in the order of its queries, or how the call fails. */
export type BatchPredictionResult = ResultAsync<InferenceResponse<readonly InferenceResult[]>, OrchardError>;

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
  /** The service that this predictor made and has to close. */
  readonly #ownInference: InferenceService | undefined;
  readonly #pretrained: PretrainedModels;
  #calls = 0;
  #closed = false;

  /** @throws ValidationError for an unknown option, or one outside its range. */
  constructor(options: PredictorOptions) {
    const { storage, account, modelLoader, inference, ...service } = validate(predictorSchema, options ?? {});
    this.#account = account;
    this.#ready = new ReadyModels(storage, account.app_id);
    this.#inference = inference ?? createService(service);
    this.#ownInference = inference === undefined ? this.#inference : undefined;
    this.#pretrained = new PretrainedModels(modelLoader, this.#inference);
  }

  /**
   * One query to a custom model. Fails with a NotFoundError for an unknown or deleted id, and with a
   * ModelNotReadyError until the model's status is READY. That another process deletes it is noticed within a second.
   */
  predictCustom(model_id: string, query: string, { signal }: CallOptions = {}): PredictionResult {
    return answered(`asking model ${model_id}`, signal, async () =>
      queryResponse(await this.#custom(model_id, this.#query(query))),
    ).andTee(() => this.#count(1));
  }

  /** 1 to 20 queries to a custom model, answered in their order. */
  predictCustomBatch(
    model_id: string,
    queries: readonly string[],
    { signal }: CallOptions = {},
  ): BatchPredictionResult {
    return answered(`asking model ${model_id}`, signal, async () =>
      batchResponse(await this.#custom(model_id, this.#batch(queries))),
    ).andTee(({ data }) => this.#count(data.length));
  }

  /**
   * One query to a pretrained model. Fails with a NotFoundError that names what there is for a name that the model
   * loader doesn't know, and with a ModelDownloadError where the loader fetches models and can't.
   */
  predictPretrained(model_name: string, query: string, { signal }: CallOptions = {}): PredictionResult {
    return answered(`asking model ${model_name}`, signal, async () => {
      const queries = this.#query(query);
      const name = validate(pretrainedNameSchema, model_name, ['model_name']);
      return queryResponse(await this.#pretrained.predict(name, queries, signal));
    }).andTee(() => this.#count(1));
  }

  /** 1 to 20 queries to a pretrained model, answered in their order. */
  predictPretrainedBatch(
    model_name: string,
    queries: readonly string[],
    { signal }: CallOptions = {},
  ): BatchPredictionResult {
    return answered(`asking model ${model_name}`, signal, async () => {
      const batch = this.#batch(queries);
      const name = validate(pretrainedNameSchema, model_name, ['model_name']);
      return batchResponse(await this.#pretrained.predict(name, batch, signal));
    }).andTee(({ data }) => this.#count(data.length));
  }

  /** What this predictor has answered so far. */
  usage(): InferenceUsage {
    return { inference_calls: this.#calls };
  }

  /** Waits for what runs and frees the models. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#pretrained.close();
    await this.#ownInference?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** A checked query, as the only one of its request. */
  #query(query: string): readonly string[] {
    this.#checkOpen();
    return [validate(querySchema, query, ['query'])];
  }

  #batch(queries: readonly string[]): readonly string[] {
    this.#checkOpen();
    if (this.#account.tier !== 'pro') throw new TierError('batch inference');
    return validate(batchQueriesSchema, queries, ['queries']);
  }

  #checkOpen(): void {
    if (this.#closed) throw new ClosedError('predictor');
  }

  async #custom(model_id: string, queries: readonly string[]): Promise<Predictions> {
    const directory = await this.#ready.directoryOf(model_id);
    try {
      return await this.#inference.predict(directory, queries);
    } catch (thrown) {
      // A model that failed may have been deleted by another process: that tells more than how it failed.
      this.#ready.forget(model_id);
      await this.#ready.directoryOf(model_id);
      throw thrown;
    }
  }

  #count(answers: number): void {
    this.#calls += answers;
  }
}
