import { errAsync, type ResultAsync } from 'neverthrow';
import * as z from 'zod';
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
  type SignalOptions,
  signalOptionsSchema,
  TierError,
  validate,
} from '../contract/index.js';
import type { Explanation, JudgedResult } from '../families/index.js';
import { isGone, ModelUses, ReadyModels, VersionNames } from '../jobs/index.js';
import type { ModelLoader } from '../models/index.js';
import type { Storage } from '../storage/index.js';
import { answerStream, type Queries, type StreamedAnswer } from './answer-stream.js';
import {
  type Answered,
  batchResponse,
  type CallOptions,
  callSchema,
  type ExplainOptions,
  explainRequest,
  explainSchema,
  explanationResponse,
  PretrainedModels,
  queryResponse,
  requestOptions,
  type StreamOptions,
  toResult,
} from './calls.js';
import type { InferenceService, InferenceStats, Predictions, RequestOptions } from './inference-service.js';
import { createService, type RunOptions, requireOwnService, runSchema } from './service.js';
import { Shadows } from './shadow.js';
import { closeWhenDropped } from './shared-models.js';

/** Options of {@link Predictor}. */
export interface PredictorOptions extends RunOptions {
  /** Where the custom models are: the storage of the Trainer that made them. Stays open on close. */
  readonly storage: Storage;
  /** Where the pretrained models come from. Default: `catalogueModels()`. */
  readonly modelLoader?: ModelLoader;
  /** The account that asks and owns the custom models. Default: the local account, which has the pro tier. */
  readonly account?: Account;
}

const predictorSchema = runSchema.extend({
  storage: implementation<Storage>(
    ['read', 'openFolder'],
    "pass the storage of the Trainer that made the models, such as fileStorage('./models'); for pretrained models only, memoryStorage() is enough",
  ),
});

/** The answer to one query, or how the call fails. */
export type PredictionResult = ResultAsync<InferenceResponse<JudgedResult>, OrchardError>;
/** The answer to one query and the words that influenced it, or how the call fails. */
export type ExplanationResult = ResultAsync<InferenceResponse<Explanation>, OrchardError>;
/** The answers to a batch, in the order of its queries, or how the call fails. */
export type BatchPredictionResult = ResultAsync<InferenceResponse<readonly JudgedResult[]>, OrchardError>;

/** Failures that don't depend on the model. */
const OF_THE_CALL: readonly OrchardError['code'][] = ['aborted', 'deadline', 'overloaded', 'memory_limit', 'closed'];

/**
 * Answers queries with trained models. Models are loaded on first use and kept while memory allows.
 *
 * Every call can fail with a ValidationError, an OverloadedError while too many texts are waiting, a MemoryLimitError
 * for a model that takes more than the memory limit, an AbortedError when its signal fires, a DeadlineError and, after
 * `close`, a ClosedError. Batches and streams need the pro tier, and fail with a TierError without it.
 */
export class Predictor implements AsyncDisposable {
  readonly #account: Account;
  readonly #ready: ReadyModels;
  readonly #names: VersionNames;
  readonly #shadows: Shadows;
  readonly #uses: ModelUses;
  readonly #inference: InferenceService;
  /** Closes the service, too, if this predictor made it. */
  readonly #release: () => Promise<void>;
  readonly #pretrained: PretrainedModels;
  #calls = 0;
  #closed = false;

  /** @throws ValidationError for an unknown option, or one outside its range. */
  constructor(options: PredictorOptions) {
    const { storage, account, modelLoader, inference, ...service } = validate(predictorSchema, options ?? {});
    requireOwnService(options);
    this.#account = account;
    const asked = inference ?? createService(service);
    const ready = new ReadyModels(storage, account.app_id, { gone: (directory) => asked.forget(directory) });
    const uses = new ModelUses(storage, account.app_id);
    const pretrained = new PretrainedModels(modelLoader, asked);
    const shadows = new Shadows(asked, ready, storage, account.app_id);
    this.#release = async () => {
      pretrained.close();
      await shadows.close();
      ready.close();
      await Promise.all([inference === undefined ? asked.close() : undefined, uses.flush()]);
    };
    this.#inference = asked;
    this.#ready = ready;
    this.#names = new VersionNames(storage, account.app_id);
    this.#shadows = shadows;
    this.#uses = uses;
    this.#pretrained = pretrained;
    closeWhenDropped(this, this.#release);
  }

  /**
   * Asks a custom model one query. Fails with a NotFoundError for an unknown or deleted id, and with a
   * ModelNotReadyError until the model's status is READY. A deletion by another process takes effect within a second,
   * and so does a promotion.
   * @param model_id the id of a model, or a name that points to one, such as `support@production`;
   *   `metadata.model_id` then says which model answered. This applies to every call that takes the id of a custom
   *   model.
   */
  predictCustom(model_id: string, query: string, options: CallOptions = {}): PredictionResult {
    return toResult(`asking model ${model_id}`, callSchema, options, async (checked) =>
      queryResponse(await this.#custom(model_id, this.#query(query), this.#request(checked))),
    ).andTee(() => this.#count(1));
  }

  /**
   * Asks a custom model one query and shows how much each word influenced the answer, which takes about as long as one
   * answer per word, and at most as long as 128 answers. The query has at most 10,000 UTF-16 code units. Fails as
   * {@link predictCustom} does, and with a ValidationError for a label that the model doesn't have, or a model whose
   * answers can't be explained.
   */
  explainCustom(model_id: string, query: string, options: ExplainOptions = {}): ExplanationResult {
    return toResult(`explaining an answer of model ${model_id}`, explainSchema, options, async (checked) => {
      const request = explainRequest(checked, this.#account.app_id);
      return explanationResponse(await this.#custom(model_id, this.#query(query), request));
    }).andTee(() => this.#count(1));
  }

  /** Asks a custom model 1 to 20 queries; answers are in the order of the queries. */
  predictCustomBatch(model_id: string, queries: readonly string[], options: CallOptions = {}): BatchPredictionResult {
    return toResult(`asking model ${model_id}`, callSchema, options, async (checked) =>
      batchResponse(await this.#custom(model_id, this.#batch(queries), this.#request(checked))),
    ).andTee(({ data }) => this.#count(data.length));
  }

  /**
   * Asks a custom model any number of queries. Answers are in the order of the queries, which are read only as fast as the
   * answers. A query that fails has its error in its place; a failure that affects every query ends the stream. Needs the
   * pro tier, as batches do. An error that the source of the queries throws is thrown by the stream.
   */
  predictCustomStream(
    model_id: string,
    queries: Queries,
    options: StreamOptions = {},
  ): AsyncGenerator<StreamedAnswer, void, undefined> {
    const ask = (query: string, call: CallOptions) => this.#streamed(() => this.predictCustom(model_id, query, call));
    return answerStream(queries, ask, options);
  }

  /**
   * Asks a pretrained model one query. Fails with a NotFoundError that lists the known names if the model loader
   * doesn't know this one, and with a ModelDownloadError if the loader can't download the model.
   */
  predictPretrained(model_name: string, query: string, options: CallOptions = {}): PredictionResult {
    return toResult(`asking model ${model_name}`, callSchema, options, async (checked) => {
      const queries = this.#query(query);
      const name = validate(pretrainedNameSchema, model_name, ['model_name']);
      return queryResponse(await this.#pretrained.predict(name, queries, this.#request(checked)));
    }).andTee(() => this.#count(1));
  }

  /** {@link explainCustom} for a pretrained model. */
  explainPretrained(model_name: string, query: string, options: ExplainOptions = {}): ExplanationResult {
    return toResult(`explaining an answer of model ${model_name}`, explainSchema, options, async (checked) => {
      const queries = this.#query(query);
      const name = validate(pretrainedNameSchema, model_name, ['model_name']);
      const request = explainRequest(checked, this.#account.app_id);
      return explanationResponse(await this.#pretrained.predict(name, queries, request));
    }).andTee(() => this.#count(1));
  }

  /** Asks a pretrained model 1 to 20 queries; answers are in the order of the queries. */
  predictPretrainedBatch(
    model_name: string,
    queries: readonly string[],
    options: CallOptions = {},
  ): BatchPredictionResult {
    return toResult(`asking model ${model_name}`, callSchema, options, async (checked) => {
      const batch = this.#batch(queries);
      const name = validate(pretrainedNameSchema, model_name, ['model_name']);
      return batchResponse(await this.#pretrained.predict(name, batch, this.#request(checked)));
    }).andTee(({ data }) => this.#count(data.length));
  }

  /** {@link predictCustomStream} for a pretrained model. */
  predictPretrainedStream(
    model_name: string,
    queries: Queries,
    options: StreamOptions = {},
  ): AsyncGenerator<StreamedAnswer, void, undefined> {
    const ask = (query: string, call: CallOptions) =>
      this.#streamed(() => this.predictPretrained(model_name, query, call));
    return answerStream(queries, ask, options);
  }

  /** Loads pretrained models in parallel, ahead of their first queries; fails with the first failure. */
  warm(model_names: readonly string[], options: SignalOptions = {}): ResultAsync<void, OrchardError> {
    return toResult(`loading ${model_names}`, signalOptionsSchema, options, async ({ signal }) => {
      this.#checkOpen();
      const names = validate(z.array(pretrainedNameSchema), model_names, ['model_names']);
      await Promise.all(names.map((name) => this.#pretrained.warm(name, signal)));
    });
  }

  /** {@link warm} for custom models. */
  warmCustom(model_ids: readonly string[], options: SignalOptions = {}): ResultAsync<void, OrchardError> {
    return toResult(`loading ${model_ids}`, signalOptionsSchema, options, async () => {
      this.#checkOpen();
      const models = validate(z.array(z.string()), model_ids, ['model_ids']);
      await Promise.all(
        models.map(async (model) => {
          const id = model.includes('@') ? (await this.#names.find(model)).model.id : model;
          await this.#inference.warm(await this.#ready.directoryOf(id));
        }),
      );
    });
  }

  /** The state of the service that runs the models; a shared service counts the work of all its users. */
  stats(): InferenceStats {
    return this.#inference.stats();
  }

  /** The calls answered so far. */
  usage(): InferenceUsage {
    return { inference_calls: this.#calls };
  }

  /** Waits for running calls, 10 s at most, and frees the models. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#release();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

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

  /** @param model an id, or a name such as `support@production`. One model answers all queries. */
  async #custom(model: string, queries: readonly string[], request: RequestOptions): Promise<Answered> {
    return model.includes('@') ? this.#named(model, queries, request) : this.#byId(model, queries, request);
  }

  async #named(name: string, queries: readonly string[], request: RequestOptions): Promise<Answered> {
    let pointed = await this.#names.find(name);
    let predictions: Predictions;
    try {
      predictions = await this.#byId(pointed.model.id, queries, request);
    } catch (thrown) {
      // Another process may have promoted another model since the name was read, and deleted this one.
      if (!isGone(thrown)) throw thrown;
      const { id } = pointed.model;
      pointed = await this.#names.read(name);
      if (pointed.model.id === id) throw thrown;
      predictions = await this.#byId(pointed.model.id, queries, request);
    }
    if (request.explain === undefined) this.#shadows.compare(name, pointed, queries, predictions.results);
    return { ...predictions, model_id: pointed.model.id };
  }

  async #byId(model_id: string, queries: readonly string[], request: RequestOptions): Promise<Predictions> {
    const found = this.#ready.directoryOf(model_id);
    const directory = typeof found === 'string' ? found : await found;
    try {
      const predictions = await this.#inference.predict(directory, queries, request);
      this.#uses.note(model_id);
      return predictions;
    } catch (thrown) {
      if (isOrchardError(thrown) && OF_THE_CALL.includes(thrown.code)) throw thrown;
      // If another process deleted the model, NotFoundError is the better message.
      await this.#ready.lookUp(model_id);
      throw thrown;
    }
  }

  #count(answers: number): void {
    this.#calls += answers;
  }
}
