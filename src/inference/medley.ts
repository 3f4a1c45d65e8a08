import { err, ok, type ResultAsync } from 'neverthrow';
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
  TierError,
  toOrchardError,
  validate,
} from '../contract/index.js';
import type { ModelLoader } from '../models/index.js';
import { batchResponse, type CallOptions, queryResponse, requestOptions, toResult } from './calls.js';
import type { InferenceService, InferenceStats, Predictions } from './inference-service.js';
import { PretrainedModels } from './pretrained-models.js';
import { createService, type RunOptions, runSchema } from './service.js';

/** Which models a medley asks, and how it runs them. */
export interface MedleyOptions extends RunOptions {
  /** Where the models come from. Default: `catalogueModels()`. */
  readonly modelLoader?: ModelLoader;
  /** Who asks. Default: the local account, of tier pro, which a medley needs. */
  readonly account?: Account;
}

const medleySchema = runSchema;

/** What became of one model that was asked. */
type Outcome<Answer> = { readonly answer: Answer } | { readonly failure: OrchardError };

/** What became of each, by its name. */
type Outcomes<Answer> = ReadonlyMap<string, Outcome<Answer>>;

/**
 * Asks models in their order, at most two at the same time; one that fails does not stop the others.
 * @param signal once it fires, no further model is asked.
 * @returns the outcomes in the order of `names`.
 */
export async function askModels<Answer>(
  names: readonly string[],
  ask: (name: string) => Promise<Answer>,
  signal?: AbortSignal,
): Promise<Outcomes<Answer>> {
  const outcomes: [name: string, outcome: Outcome<Answer>][] = [];
  // One iterator for all workers: each takes the next name when its last one has answered.
  const waiting = names.values();
  const worker = async () => {
    for (const name of waiting) {
      if (signal?.aborted) return;
      try {
        outcomes.push([name, { answer: await ask(name) }]);
      } catch (thrown) {
        outcomes.push([name, { failure: toOrchardError(thrown, `asking model ${name}`) }]);
      }
    }
  };
  await Promise.all(Array.from({ length: MAX_CONCURRENT_MODELS }, worker));
  return new Map(outcomes.sort(([a], [b]) => names.indexOf(a) - names.indexOf(b)));
}

/** Answers by the name of the model that gave them. */
export type MedleyAnswers<Answer> = Readonly<Record<string, Answer>>;

/** All answers and the models' time together, or a MedleyError with those that there are. */
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
