import { errAsync, type ResultAsync } from 'neverthrow';
import {
  type Account,
  batchQueriesSchema,
  ClosedError,
  type InferenceResponse,
  type InferenceUsage,
  implementation,
  isOrchardError,
  type OrchardError,
  pretrainedNameSchema,
  querySchema,
  TierError,
  validate,
} from '../contract/index.js';
import type { Explanation, JudgedResult } from '../families/index.js';
import { ModelUses, ReadyModels } from '../jobs/index.js';
import type { ModelLoader } from '../models/index.js';
import type { Storage } from '../storage/index.js';
import { answerStream, type Queries, type StreamedAnswer } from './answer-stream.js';
import {
  batchResponse,
  type CallOptions,
  type ExplainOptions,
  explainRequest,
  explanationResponse,
  queryResponse,
  requestOptions,
  type StreamOptions,
  toResult,
} from './calls.js';
import type { InferenceService, InferenceStats, Predictions, RequestOptions } from './inference-service.js';
import { PretrainedModels } from './pretrained-models.js';
import { createService, type RunOptions, runSchema } from './service.js';

/** Whose models a predictor asks, and how it runs them. */
export interface PredictorOptions extends RunOptions {
  /** Where the custom models are: the storage of the Trainer that made them. Stays open on close. */
  readonly storage: Storage;
  /** Where the pretrained models come from. Default: `catalogueModels()`. */
  readonly modelLoader?: ModelLoader;
  /** Who asks, and whose custom models these are. Default: the local account, of tier pro. */
  readonly account?: Account;
}

const predictorSchema = runSchema.extend({
  storage: implementation<Storage>(
    ['read', 'openFolder'],
    "pass the storage of the Trainer that made the models, such as fileStorage('./models'); for pretrained models alone memoryStorage() will do",
  ),
});

/** The answer to one query, or how the call fails. */
export type PredictionResult = ResultAsync<InferenceResponse<JudgedResult>, OrchardError>;
/** The answer to one query and what moved it, or how the call fails. */
export type ExplanationResult = ResultAsync<InferenceResponse<Explanation>, OrchardError>;
/** The answers to a batch, in the order of its queries, or how the call fails. */
export type BatchPredictionResult = ResultAsync<InferenceResponse<readonly JudgedResult[]>, OrchardError>;

/** Failures that say nothing of the model. */
const OF_THE_CALL: readonly OrchardError['code'][] = ['aborted', 'deadline', 'overloaded', 'memory_limit', 'closed'];

/**
 * Answers queries with trained models. Models are loaded on first use and kept while memory allows.
 *
 * Every call can fail with a ValidationError, an OverloadedError while too many texts wait, a MemoryLimitError for a model
 * that takes more than the memory limit, an AbortedError when its signal fires, a DeadlineError and, after `close`, a ClosedError; batches and streams need the pro tier, and fail with a
 * TierError without it.
 */
export class Predictor implements AsyncDisposable {
  readonly #account: Account;
  readonly #ready: ReadyModels;
  readonly #uses: ModelUses;
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
    const own = inference ?? createService(service);
    this.#inference = own;
    this.#ready = new ReadyModels(storage, account.app_id, { gone: (directory) => own.forget(directory) });
    this.#uses = new ModelUses(storage, account.app_id);
    this.#ownInference = inference === undefined ? this.#inference : undefined;
    this.#pretrained = new PretrainedModels(modelLoader, this.#inference);
  }

  /**
   * One query to a custom model. Fails with a NotFoundError for an unknown or deleted id, and with a
   * ModelNotReadyError until the model's status is READY. That another process deletes it is noticed within a second.
   */
  predictCustom(model_id: string, query: string, options: CallOptions = {}): PredictionResult {
    return toResult(`asking model ${model_id}`, options.signal, async () =>
      queryResponse(await this.#custom(model_id, this.#query(query), this.#request(options))),
    ).andTee(() => this.#count(1));
  }

  /**
   * One query to a custom model, and which of its words moved the answer. The query may have 10,000 UTF-16 code units at
   * most. Takes about as long as so many queries as it has words. Fails as {@link predictCustom} does, and with a
   * ValidationError for a label that the model doesn't have, or a model whose answers can't be explained.
   */
  explainCustom(model_id: string, query: string, options: ExplainOptions = {}): ExplanationResult {
    return toResult(`explaining an answer of model ${model_id}`, options.signal, async () => {
      const request = explainRequest(options, this.#account.app_id);
      return explanationResponse(await this.#custom(model_id, this.#query(query), request));
    }).andTee(() => this.#count(1));
  }

  /** 1 to 20 queries to a custom model, answered in their order. */
  predictCustomBatch(model_id: string, queries: readonly string[], options: CallOptions = {}): BatchPredictionResult {
    return toResult(`asking model ${model_id}`, options.signal, async () =>
      batchResponse(await this.#custom(model_id, this.#batch(queries), this.#request(options))),
    ).andTee(({ data }) => this.#count(data.length));
  }

  /**
   * Any number of queries to a custom model, as they come: the answers are in the order of the queries, which are read
   * only as fast as the answers are. A query that fails has its error in its place; what would fail every query ends
   * the stream with that error. Needs the pro tier, as batches do. What the queries themselves throw, the stream throws.
   */
  predictCustomStream(
    model_id: string,
    queries: Queries,
    options: StreamOptions = {},
  ): AsyncGenerator<StreamedAnswer, void, undefined> {
    const ask = (query: string) => this.#streamed(() => this.predictCustom(model_id, query, options));
    return answerStream(queries, ask, options);
  }

  /**
   * One query to a pretrained model. Fails with a NotFoundError that names what there is for a name that the model
   * loader doesn't know, and with a ModelDownloadError where the loader fetches models and can't.
   */
  predictPretrained(model_name: string, query: string, options: CallOptions = {}): PredictionResult {
    return toResult(`asking model ${model_name}`, options.signal, async () => {
      const queries = this.#query(query);
      const name = validate(pretrainedNameSchema, model_name, ['model_name']);
      return queryResponse(await this.#pretrained.predict(name, queries, this.#request(options)));
    }).andTee(() => this.#count(1));
  }

  /** One query to a pretrained model, and which of its words moved the answer, as {@link explainCustom} tells it. */
  explainPretrained(model_name: string, query: string, options: ExplainOptions = {}): ExplanationResult {
    return toResult(`explaining an answer of model ${model_name}`, options.signal, async () => {
      const queries = this.#query(query);
      const name = validate(pretrainedNameSchema, model_name, ['model_name']);
      const request = explainRequest(options, this.#account.app_id);
      return explanationResponse(await this.#pretrained.predict(name, queries, request));
    }).andTee(() => this.#count(1));
  }

  /** 1 to 20 queries to a pretrained model, answered in their order. */
  predictPretrainedBatch(
    model_name: string,
    queries: readonly string[],
    options: CallOptions = {},
  ): BatchPredictionResult {
    return toResult(`asking model ${model_name}`, options.signal, async () => {
      const batch = this.#batch(queries);
      const name = validate(pretrainedNameSchema, model_name, ['model_name']);
      return batchResponse(await this.#pretrained.predict(name, batch, this.#request(options)));
    }).andTee(({ data }) => this.#count(data.length));
  }

  /** Any number of queries to a pretrained model, as {@link predictCustomStream} answers those to a custom one. */
  predictPretrainedStream(
    model_name: string,
    queries: Queries,
    options: StreamOptions = {},
  ): AsyncGenerator<StreamedAnswer, void, undefined> {
    const ask = (query: string) => this.#streamed(() => this.predictPretrained(model_name, query, options));
    return answerStream(queries, ask, options);
  }

  /** Loads pretrained models ahead of their first queries, at the same time; fails with the first failure. */
  warm(model_names: readonly string[], { signal }: CallOptions = {}): ResultAsync<void, OrchardError> {
    return toResult(`loading ${model_names.join(', ')}`, signal, async () => {
      this.#checkOpen();
      const names = model_names.map((name) => validate(pretrainedNameSchema, name, ['model_names']));
      await Promise.all(names.map((name) => this.#pretrained.warm(name, signal)));
    });
  }

  /** Loads custom models ahead of their first queries, as {@link warm} does pretrained ones. */
  warmCustom(model_ids: readonly string[], { signal }: CallOptions = {}): ResultAsync<void, OrchardError> {
    return toResult(`loading ${model_ids.join(', ')}`, signal, async () => {
      this.#checkOpen();
      await Promise.all(model_ids.map(async (id) => this.#inference.warm(await this.#ready.directoryOf(id))));
    });
  }

  /** What waits, what runs and what was done, of the service that runs the models, which others may use as well. */
  stats(): InferenceStats {
    return this.#inference.stats();
  }

  /** What this predictor has answered so far. */
  usage(): InferenceUsage {
    return { inference_calls: this.#calls };
  }

  /** Waits for what runs, 10 s at most, and frees the models. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#pretrained.close();
    this.#ready.close();
    await Promise.all([this.#ownInference?.close(), this.#uses.flush()]);
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

  #request(options: CallOptions): RequestOptions {
    return requestOptions(options, this.#account.app_id);
  }

  #checkOpen(): void {
    if (this.#closed) throw new ClosedError('predictor');
  }

  /** @throws TierError, as batches do. */
  #streamed(ask: () => PredictionResult): PredictionResult {
    return this.#account.tier === 'pro' ? ask() : errAsync(new TierError('a stream of queries'));
  }

  async #custom(model_id: string, queries: readonly string[], request: RequestOptions): Promise<Predictions> {
    const found = this.#ready.directoryOf(model_id);
    const directory = typeof found === 'string' ? found : await found;
    try {
      const predictions = await this.#inference.predict(directory, queries, request);
      this.#uses.note(model_id);
      return predictions;
    } catch (thrown) {
      if (isOrchardError(thrown) && OF_THE_CALL.includes(thrown.code)) throw thrown;
      // A model that failed may have been deleted by another process: that tells more than how it failed.
      await this.#ready.lookUp(model_id);
      throw thrown;
    }
  }

  #count(answers: number): void {
    this.#calls += answers;
  }
}
