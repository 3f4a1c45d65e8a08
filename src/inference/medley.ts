import { err, ok, type ResultAsync } from 'neverthrow';
import {
  type Account,
  batchQueriesSchema,
  ClosedError,
  type InferenceResponse,
  type InferenceResult,
  type InferenceUsage,
  InternalError,
  type MedleyBatchRequest,
  MedleyError,
  type MedleyRequest,
  medleyBatchRequestSchema,
  medleyRequestSchema,
  type OrchardError,
  pretrainedNameSchema,
  TierError,
  validate,
} from '../contract/index.js';
import { toResult } from './answered.js';
import { askModels } from './ask-models.js';
import { type CallOptions, requestOptions } from './call-options.js';
import type { InferenceService, Predictions } from './inference-service.js';
import type { InferenceStats } from './inference-stats.js';
import { type MedleyOptions, medleySchema } from './medley-options.js';
import { type MedleyAnswers, medleyResponse } from './medley-response.js';
import { PretrainedModels } from './pretrained-models.js';
import { batchResponse, queryResponse } from './responses.js';
import { createService } from './service-options.js';

/** How a medley fails; what a MedleyError keeps is of the kind that was asked for. */
export type MedleyFailure<Answer> = Exclude<OrchardError, MedleyError> | MedleyError<Answer>;

/** The answers by the names of the models, or how the medley fails. */
export type MedleyResult<Answer> = ResultAsync<InferenceResponse<MedleyAnswers<Answer>>, MedleyFailure<Answer>>;

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
  readonly #inference: InferenceService;
  /** The service that this medley made and has to close. */
  readonly #ownInference: InferenceService | undefined;
  readonly #models: PretrainedModels;
  #calls = 0;
  #closed = false;

  /** @throws ValidationError for an unknown option, or one outside its range. */
  constructor(options: MedleyOptions = {}) {
    const { account, modelLoader, inference, ...service } = validate(medleySchema, options);
    this.#account = account;
    this.#inference = inference ?? createService(service);
    this.#ownInference = inference === undefined ? this.#inference : undefined;
    this.#models = new PretrainedModels(modelLoader, this.#inference);
  }

  /** One query to several models. */
  predict(request: MedleyRequest, options?: CallOptions): MedleyResult<InferenceResult> {
    const checked = () => {
      const { query, models } = validate(medleyRequestSchema, request);
      return { queries: [query], models };
    };
    return this.#ask(checked, queryResponse, options);
  }

  /** 1 to 50 queries to several models; each model's answers are in the order of the queries. */
  predictBatch(request: MedleyBatchRequest, options?: CallOptions): MedleyResult<readonly InferenceResult[]> {
    return this.#ask(() => validate(medleyBatchRequestSchema, request), batchResponse, options);
  }

  /** 1 to 20 queries to one model, answered in their order; fails as that model does. */
  predictPretrainedBatch(
    model_name: string,
    queries: readonly string[],
    options: CallOptions = {},
  ): ResultAsync<InferenceResponse<readonly InferenceResult[]>, OrchardError> {
    return toResult(`asking model ${model_name}`, options.signal, async () => {
      this.#checkOpen();
      const name = validate(pretrainedNameSchema, model_name, ['model_name']);
      const batch = validate(batchQueriesSchema, queries, ['queries']);
      return batchResponse(await this.#models.predict(name, batch, requestOptions(options, this.#account.app_id)));
    }).andTee(({ data }) => this.#count(data.length));
  }

  /** Loads pretrained models ahead of their first queries, at the same time; fails with the first failure. */
  warm(model_names: readonly string[], { signal }: CallOptions = {}): ResultAsync<void, OrchardError> {
    return toResult(`loading ${model_names.join(', ')}`, signal, async () => {
      this.#checkOpen();
      const names = model_names.map((name) => validate(pretrainedNameSchema, name, ['model_names']));
      await Promise.all(names.map((name) => this.#models.warm(name, signal)));
    });
  }

  /** What waits, what runs and what was done, of the service that runs the models, which others may use as well. */
  stats(): InferenceStats {
    return this.#inference.stats();
  }

  /** What this medley has answered so far. A query to several models is one call, also where some of them failed. */
  usage(): InferenceUsage {
    return { inference_calls: this.#calls };
  }

  /** Waits for what runs, 10 s at most, and frees the models. Idempotent. */
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
    const { signal } = options;
    return toResult('asking several models', signal, async () => {
      this.#checkOpen();
      const { queries, models } = checked();
      const request = requestOptions(options, this.#account.app_id);
      const ask = async (name: string) => responseOf(await this.#models.predict(name, queries, request));
      return { queries, outcomes: await askModels(models, ask, signal) };
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

/** The error of a call that came to no outcomes of models: none is a MedleyError, which is made of them afterwards. */
function withoutModels(error: OrchardError): Exclude<OrchardError, MedleyError> {
  return error.code === 'medley' ? new InternalError('a medley failed too early', { cause: error }) : error;
}
