import { join } from 'node:path';
import { err, errAsync, type Result, ResultAsync } from 'neverthrow';
import * as z from 'zod';
import {
  type AnswerView,
  type FamilyName,
  type ModelType,
  querySchema,
  validate,
} from '../contract/index.js';
import { ClosedError, type OrchardError, toOrchardError } from '../errors.js';
import { familyOfModel } from '../families/index.js';
import {
  type CallOptions,
  type ExplainOptions,
  isQueries,
  type Queries,
  type ServiceOptions,
  type StreamedAnswer,
  type StreamOptions,
} from '../inference/index.js';
import {
  CARD_FILE,
  CONFIG_FILE,
  type ModelFolderConfig,
  readConfig,
  readFolderFile,
  readModelReport,
} from '../model-folder/index.js';
import { Predictor } from '../predictor/index.js';
import { memoryStorage } from '../storage/index.js';
import { type Answer, type AnswerExplanation, type AnswerReading, toAnswer } from './answers.js';
import { onlyModel, type PlacedModel } from './base-model.js';
import type { EvaluateOptions, Evaluation } from './evaluation/index.js';
import type { Model } from './model.js';
import { copyInto, writeFolder } from './model-output.js';
import type { RowsOrPath } from './rows/index.js';

/** How a folder with a model is known. */
export const MODEL_FOLDER = { marker: CONFIG_FILE, noun: `${CONFIG_FILE} of a model` };

/** What opening a model takes. */
export interface OpenOptions {
  readonly service: ServiceOptions;
  /** Called once it is closed: removes what was made for it. */
  readonly onClose?: () => Promise<void>;
  readonly signal?: AbortSignal | undefined;
}

const textsSchema = z.array(querySchema);

/** A model folder that a predictor of its own runs. */
export class OpenModel implements Model {
  readonly name: string;
  readonly directory: string;
  readonly type: ModelType;
  readonly family: FamilyName;
  readonly kind: AnswerView;
  readonly labels: readonly string[];
  readonly #reading: AnswerReading;
  readonly #predictor: Predictor;
  readonly #onClose: (() => Promise<void>) | undefined;
  #closing: Promise<void> | undefined;

  protected constructor({ name, directory }: PlacedModel, config: ModelFolderConfig, options: OpenOptions) {
    const family = familyOfModel(config, join(directory, CONFIG_FILE));
    this.name = name;
    this.directory = directory;
    this.type = config.orchard.type;
    this.family = family.name;
    this.kind = family.answerView;
    this.labels = family.classNames(config).names;
    const isBinary = config.orchard.labels.length === 2 && Object.keys(config.id2label).length === 1;
    const isMultilabel = config.problem_type === 'multi_label_classification' && !isBinary;
    this.#reading = { view: family.answerView, isMultilabel };
    const modelLoader = onlyModel({ directory });
    this.#predictor = new Predictor({ ...options.service, storage: memoryStorage(), modelLoader });
    this.#onClose = options.onClose;
  }

  /** Opens a folder and loads what is in it. @throws ModelFolderError, MemoryLimitError, DeviceError, AbortedError */
  static async open(placed: PlacedModel, options: OpenOptions): Promise<OpenModel> {
    return OpenModel.loaded(new OpenModel(placed, await readConfig(placed.directory), options), options);
  }

  protected static async loaded<Opened extends OpenModel>(
    model: Opened,
    { signal }: Pick<OpenOptions, 'signal'>,
  ): Promise<Opened> {
    const warmed = await model.#predictor.warm([model.name], { signal });
    if (warmed.isOk()) return model;
    await model.close();
    throw warmed.error;
  }

  predict(text: string, options?: CallOptions): ResultAsync<Answer, OrchardError>;
  predict(texts: readonly string[], options?: StreamOptions): ResultAsync<readonly Answer[], OrchardError>;
  predict(
    texts: Queries,
    options?: StreamOptions,
  ): AsyncGenerator<Result<Answer, OrchardError>, void, undefined>;
  predict(
    given: string | readonly string[] | Queries,
    options: StreamOptions = {},
  ):
    | ResultAsync<Answer | readonly Answer[], OrchardError>
    | AsyncGenerator<Result<Answer, OrchardError>, void, undefined> {
    if (Array.isArray(given)) return this.#all(given, options);
    // Anything else, such as the undefined of a caller without types, is refused like a text that is none.
    return isQueries(given) ? this.#stream(given, options) : this.#one(given, options);
  }

  explain(text: string, options: ExplainOptions = {}): ResultAsync<AnswerExplanation, OrchardError> {
    if (this.#closing) return errAsync(new ClosedError('model'));
    return this.#predictor.explainPretrained(this.name, text, options).map(({ data }) => {
      return { answer: toAnswer(data, this.#reading), explained: data.explained };
    });
  }

  evaluate(rows: RowsOrPath, options: EvaluateOptions = {}): ResultAsync<Evaluation, OrchardError> {
    return this.#call(`evaluating ${this.name}`, async () => {
      const { evaluateModel } = await import('./evaluation/index.js');
      return evaluateModel(this, rows, options);
    });
  }

  save(folder: string): ResultAsync<void, OrchardError> {
    return this.#call(`saving ${this.name}`, () =>
      writeFolder(folder, MODEL_FOLDER, (made) => copyInto(this.directory, made)),
    );
  }

  card(): ResultAsync<string, OrchardError> {
    return this.#call(`reading the card of ${this.name}`, async () =>
      (await readFolderFile(this.directory, CARD_FILE)).toString('utf8'),
    );
  }

  report(): ResultAsync<string, OrchardError> {
    return this.#call(`writing the report of ${this.name}`, async () => {
      const { reportHtml } = await import('../report/index.js');
      return reportHtml(await readModelReport(this.directory));
    });
  }

  close(): Promise<void> {
    this.#closing ??= this.#predictor.close().then(() => this.#onClose?.());
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #one(text: string, options: CallOptions): ResultAsync<Answer, OrchardError> {
    if (this.#closing) return errAsync(new ClosedError('model'));
    return this.#predictor
      .predictPretrained(this.name, text, options)
      .map(({ data }) => toAnswer(data, this.#reading));
  }

  #all(texts: readonly string[], options: StreamOptions): ResultAsync<readonly Answer[], OrchardError> {
    return this.#call(`asking model ${this.name}`, async () => {
      const answers: Answer[] = [];
      for await (const answer of this.#stream(validate(textsSchema, texts, ['texts']), options)) {
        if (answer.isErr()) throw answer.error;
        answers.push(answer.value);
      }
      return answers;
    });
  }

  async *#stream(
    texts: Queries,
    options: StreamOptions,
  ): AsyncGenerator<Result<Answer, OrchardError>, void, undefined> {
    if (this.#closing) return yield err(new ClosedError('model'));
    const answers: AsyncIterable<StreamedAnswer> = this.#predictor.predictPretrainedStream(
      this.name,
      texts,
      options,
    );
    for await (const answer of answers) yield answer.map(({ data }) => toAnswer(data, this.#reading));
  }

  #call<T>(doing: string, work: () => Promise<T>): ResultAsync<T, OrchardError> {
    if (this.#closing) return errAsync(new ClosedError('model'));
    return ResultAsync.fromPromise(work(), (thrown) => toOrchardError(thrown, doing));
  }
}
