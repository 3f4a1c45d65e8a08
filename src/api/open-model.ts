import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { err, errAsync, Result, type ResultAsync } from 'neverthrow';
import * as z from 'zod';
import {
  AGGREGATIONS,
  type AnswerView,
  ClosedError,
  callResult,
  type FamilyName,
  InternalError,
  implementation,
  type ModelType,
  type OrchardError,
  type PretrainedModelName,
  querySchema,
  requireOptions,
  toOrchardError,
  type UsedRuntime,
  ValidationError,
  validate,
  WEIGHT_FORMS,
} from '../contract/index.js';
import type { RowsOrPath, TagDoubt } from '../datasets/index.js';
import type { Baseline, Drift } from '../drift/index.js';
import { type Family, familyOfModel } from '../families/index.js';
import {
  answerStream,
  askAll,
  type CallOptions,
  callSchema,
  type ExplainOptions,
  explainRequest,
  explainSchema,
  explanationResponse,
  isQueries,
  type ModelHandle,
  type OpenOptions,
  openFolder,
  type Queries,
  requestOptions,
  resultOf,
  type ServiceOptions,
  type StreamOptions,
  toResult,
} from '../inference/index.js';
import {
  type Aggregation,
  addRules,
  CARD_FILE,
  CONFIG_FILE,
  changedFolder,
  copyInto,
  EVALUATION_FILE,
  findModel,
  folderVersion,
  type ModelLoader,
  modelAsOfNow,
  problemOfAll,
  RULES_FILE,
  type Rule,
  readFolderFile,
  readModelReport,
  readRules,
  readUnchanged,
  requireFittingRules,
  rulesContent,
  TRAINING_FILE,
  typesOfRules,
  writeFolder,
} from '../models/index.js';
import type { EncoderOptions, SentenceEncoder } from '../search/index.js';
import { listAsOfNow, mapWithPauses, requirePath, TemporaryDirectory, validateWithPauses } from '../system/index.js';
import { joinParts } from '../text/index.js';
import { type AskableModel, askableFolder, type CopiedWeights, convertFolder } from '../training/index.js';
import {
  type Answer,
  type AnswerExplanation,
  type AnswerOf,
  type AnswerReading,
  answerReading,
  toAnswer,
} from './answers.js';
import type { BaselineOptions, DriftOptions } from './drift.js';
import type { EvaluateOptions, Evaluation } from './evaluate.js';
import type { Model, ModelText, ModelTexts } from './model.js';
import { asOfNow, requireNotRead } from './paths.js';
import { checkedReplacements, type RedactedText, type Replacements, redacted } from './redact.js';
import { rulesSchema } from './rules.js';

export const MODEL_FOLDER = { marker: CONFIG_FILE, noun: `${CONFIG_FILE} of a model` };

interface OpenParts extends AskableModel {
  /** Of the checkpoint, when it was opened. */
  readonly version: string | undefined;
  readonly handle: ModelHandle;
  readonly family: Family;
  readonly rules: readonly Rule[];
  /** Where they are, if they are not those of the folder. */
  readonly rulesFile: string | undefined;
}

interface RuledOptions extends OpenOptions {
  /** To come before those of the folder. Default: none. */
  readonly rules?: readonly Rule[] | undefined;
}

/** No model can say anything about a blank text. The service answers it all the same, as its interface asks for. */
const textSchema = querySchema.refine((text) => text.trim() !== '', 'the text is blank; leave it out');
const textsSchema = z.array(textSchema);
const pairSchema = z.lazy(() =>
  z.strictObject({ text: textSchema, text2: textSchema }, 'the model reads pairs of texts; give { text, text2 }'),
);
const pairsSchema = z.array(pairSchema);

const isPair = (value: unknown): boolean => typeof value === 'object' && value !== null && 'text2' in value;

export class OpenModel implements Model {
  readonly name: string;
  readonly directory: string;
  readonly type: ModelType;
  readonly family: FamilyName;
  readonly kind: AnswerView;
  readonly labels: readonly string[];
  readonly readsPairs: boolean;
  readonly rules: readonly Rule[];
  readonly runtime: UsedRuntime;
  readonly #rulesFile: string | undefined;
  readonly #reading: AnswerReading;
  readonly #handle: ModelHandle;
  /** The handle, asked with the rules that the model was loaded with. */
  readonly #asked: Pick<ModelHandle, 'predict'>;
  readonly #checkpoint: string | undefined;
  readonly #version: string | undefined;

  private constructor({ name, directory, checkpoint, version, handle, family, rules, rulesFile }: OpenParts) {
    const { config } = handle;
    this.name = name;
    this.directory = directory;
    this.type = config.orchard.type;
    this.family = family.name;
    this.kind = family.answerView;
    this.labels = [...new Set([...family.classNames(config).names, ...typesOfRules(rules)])];
    this.readsPairs = config.orchard.parts === 'pair';
    this.rules = rules;
    this.runtime = handle.runtime;
    this.#rulesFile = rulesFile;
    this.#asked = {
      predict: (texts, request) =>
        handle.predict(texts, { ...(rulesFile !== undefined && { rules: rulesFile }), ...request }),
    };
    this.#reading = answerReading(config, join(directory, CONFIG_FILE));
    this.#handle = handle;
    this.#checkpoint = checkpoint;
    this.#version = version;
  }

  /** @throws ModelFolderError, MemoryLimitError, AbortedError, and ValidationError for options of the service */
  static async open(placed: AskableModel, { rules: given = [], ...options }: RuledOptions): Promise<OpenModel> {
    const version = placed.checkpoint && folderVersion(placed.checkpoint);
    const temporary = new TemporaryDirectory();
    const onClose = async () => {
      await Promise.all([temporary.remove(), options.onClose?.()]);
    };
    const handle = await openFolder(placed, { ...options, onClose });
    try {
      const family = familyOfModel(handle.config, join(placed.directory, CONFIG_FILE));
      const { orchard } = handle.config;
      const rules = [...given, ...(orchard.rules === undefined ? [] : await handle.read(readRules, [RULES_FILE]))];
      if (given.length === 0) return new OpenModel({ ...placed, version, handle, family, rules, rulesFile: undefined });
      requireFittingRules(given, family.answerView, orchard);
      checkedTogether(rules);
      const rulesFile = join(await temporary.path(), RULES_FILE);
      await writeFile(rulesFile, rulesContent(rules));
      return new OpenModel({ ...placed, version, handle, family, rules, rulesFile });
    } catch (thrown) {
      await handle.close();
      throw thrown;
    }
  }

  predict(text: ModelText, options?: CallOptions): ResultAsync<Answer, OrchardError>;
  predict(texts: readonly ModelText[], options?: StreamOptions): ResultAsync<readonly Answer[], OrchardError>;
  predict(texts: ModelTexts, options?: StreamOptions): AsyncGenerator<Result<Answer, OrchardError>, void, undefined>;
  predict(
    given: ModelText | readonly ModelText[] | ModelTexts,
    options: StreamOptions = {},
  ):
    | ResultAsync<Answer | readonly Answer[], OrchardError>
    | AsyncGenerator<Result<Answer, OrchardError>, void, undefined> {
    if (Array.isArray(given)) return this.#all(given, options);
    // Any other value, such as undefined from untyped code, fails the check of a single text.
    return isQueries<ModelText>(given) ? this.#stream(given, options) : this.#one(given, options);
  }

  /**
   * Entities: each answer, with the words of whose tags the model is not certain. @throws as `predict` fails
   */
  async answersWithDoubts(
    texts: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<readonly { readonly answer: Answer; readonly doubts: readonly TagDoubt[] }[]> {
    const asked: Pick<ModelHandle, 'predict'> = {
      predict: (some, request) => this.#asked.predict(some, { ...request, explain: 'doubts' }),
    };
    const { results, truncated } = await askAll(asked, this.name, await this.#textsOf(texts), { signal });
    return mapWithPauses(results, (result, at) => {
      return { answer: toAnswer(result, this.#reading, truncated.has(at)), doubts: result.doubts ?? [] };
    });
  }

  /** The encoder of this model, even if another model has replaced its folder. @throws as {@link SentenceEncoder.ofOpenModel} */
  async openEncoder(options: EncoderOptions): Promise<SentenceEncoder> {
    const { SentenceEncoder } = await import('../search/index.js');
    return SentenceEncoder.ofOpenModel({ name: this.name, directory: this.directory }, this.#handle, options);
  }

  explain(text: string, options: ExplainOptions = {}): ResultAsync<AnswerExplanation, OrchardError> {
    if (this.#handle.isClosed) return errAsync(new ClosedError('model'));
    return toResult(`explaining an answer of model ${this.name}`, explainSchema, options, async (checked) => {
      if (this.readsPairs) throw unexplained(this.name);
      const queries = [validate(textSchema, text, ['query'])];
      const request = explainRequest(checked);
      const { data, metadata } = explanationResponse(await this.#asked.predict(queries, request));
      const isTruncated = metadata.truncated !== undefined;
      return { answer: toAnswer(data, this.#reading, isTruncated), explained: data.explained };
    });
  }

  redact(text: string, replacements?: Replacements, options?: CallOptions): ResultAsync<RedactedText, OrchardError>;
  redact(
    texts: readonly string[],
    replacements?: Replacements,
    options?: StreamOptions,
  ): ResultAsync<readonly RedactedText[], OrchardError>;
  redact(
    texts: Queries,
    replacements?: Replacements,
    options?: StreamOptions,
  ): AsyncGenerator<Result<RedactedText, OrchardError>, void, undefined>;
  redact(
    given: string | readonly string[] | Queries,
    replacements?: Replacements,
    options: StreamOptions = {},
  ):
    | ResultAsync<RedactedText | readonly RedactedText[], OrchardError>
    | AsyncGenerator<Result<RedactedText, OrchardError>, void, undefined> {
    const redactor = Result.fromThrowable(
      () => this.#redactor(replacements),
      (thrown) => toOrchardError(thrown, `redacting with ${this.name}`),
    )();
    if (Array.isArray(given)) {
      const texts = [...given];
      return redactor.asyncAndThen((redact) =>
        this.#all(texts, options).andThen((answers) =>
          callResult(
            mapWithPauses(texts, (text, at) => redact(text, answers[at])),
            `redacting with ${this.name}`,
          ),
        ),
      );
    }
    const one = (text: string, call: CallOptions) =>
      redactor.asyncAndThen((redact) =>
        this.#one(text, call).andThen((answer) =>
          callResult(
            Promise.resolve().then(() => redact(text, answer)),
            `redacting with ${this.name}`,
          ),
        ),
      );
    return isQueries(given) ? answerStream(given, one, options) : one(given, options);
  }

  evaluate(rows: RowsOrPath, options: EvaluateOptions = {}): ResultAsync<Evaluation, OrchardError> {
    const given = asOfNow(rows);
    return this.#call(`evaluating ${this.name}`, async () => {
      const { evaluateModel } = await import('./evaluate.js');
      return evaluateModel(this, given, options);
    });
  }

  baseline(options: BaselineOptions = {}): ResultAsync<Baseline, OrchardError> {
    const given = options?.texts ? { ...options, texts: listAsOfNow(options.texts) } : options;
    return this.#call(`the baseline of ${this.name}`, async () => {
      const { modelBaseline } = await import('./drift.js');
      return modelBaseline(this, given, () => this.#recordedBaseline());
    });
  }

  drift(texts: readonly string[], options: DriftOptions = {}): ResultAsync<Drift, OrchardError> {
    const given = listAsOfNow(texts);
    return this.#call(`comparing texts with the baseline of ${this.name}`, async () => {
      const { modelDrift } = await import('./drift.js');
      return modelDrift(this, given, options, () => this.#recordedBaseline());
    });
  }

  save(folder: string): ResultAsync<void, OrchardError> {
    const target = asOfNow(folder);
    return this.#call(`saving ${this.name}`, () => writeFolder(target, MODEL_FOLDER, (made) => this.#writeTo(made)));
  }

  card(): ResultAsync<string, OrchardError> {
    const read = async (directory: string) => (await readFolderFile(directory, CARD_FILE)).toString('utf8');
    return this.#call(`reading the card of ${this.name}`, () => this.#handle.read(read, [CARD_FILE]));
  }

  report(): ResultAsync<string, OrchardError> {
    return this.#call(`writing the report of ${this.name}`, async () => {
      const { reportHtml } = await import('../report/index.js');
      const names = [CONFIG_FILE, TRAINING_FILE, EVALUATION_FILE];
      return reportHtml(await this.#handle.read(readModelReport, names));
    });
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #one(text: ModelText, options: CallOptions): ResultAsync<Answer, OrchardError> {
    if (this.#handle.isClosed) return errAsync(new ClosedError('model'));
    return toResult(`asking model ${this.name}`, callSchema, options, async (checked) => {
      const texts = [this.#textOf(text)];
      const predictions = await this.#asked.predict(texts, requestOptions(checked));
      return toAnswer(resultOf(predictions), this.#reading, predictions.truncated.length > 0);
    });
  }

  /** The text as the model's tokenizer reads it. @throws ValidationError */
  #textOf(text: ModelText): string {
    if (!this.readsPairs) {
      if (isPair(text)) throw unwantedPair(this.name, ['query']);
      return validate(textSchema, text, ['query']);
    }
    const pair = validate(pairSchema, text, ['query']);
    return joinParts(pair.text, pair.text2);
  }

  async #textsOf(texts: readonly ModelText[]): Promise<readonly string[]> {
    if (!this.readsPairs) {
      const at = texts.findIndex(isPair);
      if (at >= 0) throw unwantedPair(this.name, ['texts', at]);
      return validateWithPauses(textsSchema, texts, ['texts']);
    }
    const pairs = await validateWithPauses(pairsSchema, texts, ['texts']);
    return mapWithPauses(pairs, ({ text, text2 }) => joinParts(text, text2));
  }

  #all(texts: readonly ModelText[], options: StreamOptions): ResultAsync<readonly Answer[], OrchardError> {
    return this.#call(`asking model ${this.name}`, async () => {
      const given = await this.#textsOf(texts);
      const { results, truncated } = await askAll(this.#asked, this.name, given, options);
      return mapWithPauses(results, (result, at) => toAnswer(result, this.#reading, truncated.has(at)));
    });
  }

  /** @throws ValidationError for replacements that don't fit */
  #redactor(replacements: Replacements | undefined): (text: string, answer: Answer | undefined) => RedactedText {
    if (this.#handle.isClosed) throw new ClosedError('model');
    if (this.kind !== 'entities') {
      const msg = `${this.name} is a ${this.type} model, which finds no entities; use a named-entity-recognition model`;
      throw new ValidationError([{ loc: ['model'], msg, type: 'unsupported' }]);
    }
    const checked = checkedReplacements(replacements, this.labels);
    return (text, answer) => {
      if (answer?.kind !== 'entities') throw new InternalError('the model gave no entities');
      return redacted(text, answer, checked);
    };
  }

  async *#stream(
    texts: ModelTexts,
    options: StreamOptions,
  ): AsyncGenerator<Result<Answer, OrchardError>, void, undefined> {
    if (this.#handle.isClosed) return yield err(new ClosedError('model'));
    yield* answerStream(texts, (text, call) => this.#one(text, call), options);
  }

  async #recordedBaseline(): Promise<Baseline> {
    const { BASELINE_FILE, readBaseline } = await import('../drift/index.js');
    return this.#handle.read(readBaseline, [BASELINE_FILE]);
  }

  async #writeTo(made: string): Promise<void> {
    await this.#copyTo(made);
    if (this.#rulesFile === undefined) return;
    await addRules(made, this.rules);
    const { cardWithRules } = await import('../report/index.js');
    await cardWithRules(made);
  }

  async #copyTo(made: string): Promise<void> {
    const checkpoint = this.#checkpoint;
    if (checkpoint === undefined) {
      return this.#handle.read(async (directory) => {
        await rm(made, { recursive: true, force: true }); // what was copied before a change was seen
        await copyInto(directory, made);
      });
    }
    const [converted] = await Promise.allSettled([convertFolder(checkpoint, made, 'float32')]);
    if (folderVersion(checkpoint) !== this.#version) throw changedFolder(checkpoint);
    if (converted.status === 'rejected') throw converted.reason;
  }

  #call<T>(doing: string, work: () => Promise<T>): ResultAsync<T, OrchardError> {
    if (this.#handle.isClosed) return errAsync(new ClosedError('model'));
    return callResult(work(), doing);
  }
}

function unwantedPair(name: string, loc: readonly (string | number)[]): ValidationError {
  const msg = `${name} reads single texts, but this is a pair; give a string, or train a model on rows with text2`;
  return new ValidationError([{ loc, msg, type: 'unsupported' }]);
}

function unexplained(name: string): ValidationError {
  const msg = `${name} reads pairs of texts, and answers to pairs can't be explained`;
  return new ValidationError([{ loc: ['model'], msg, type: 'unsupported' }]);
}

/** Options of {@link loadModel}. */
export interface LoadModelOptions extends ServiceOptions {
  /**
   * For a checkpoint that labels tokens: how the labels become entities, as `aggregation_strategy` of transformers'
   * pipeline. `simple` joins tokens; `first` joins whole words, each with the label of its first token. Default:
   * `first` if the tokenizer marks the tokens that continue a word, as WordPiece does with `##`, and `simple`
   * otherwise.
   */
  readonly aggregation?: Aggregation;
  /**
   * For a checkpoint: `int8` stores the encoder's weights in 8 bits, a quarter of the space. Fails with a
   * ModelFolderError if a score of a sample text then changes by more than 0.05. Default `float32`.
   */
  readonly weights?: CopiedWeights;
  /**
   * Rules that answer wherever a pattern or a term matches (docs/rules.md). They take precedence over the rules of the
   * model's folder, and `save` keeps them. Default: none.
   */
  readonly rules?: readonly Rule[] | undefined;
  /** Loads models that are not folders. Default: the catalogue and, for `owner/name`, the Hugging Face Hub. */
  readonly modelLoader?: ModelLoader;
  /** Stops the loading. */
  readonly signal?: AbortSignal | undefined;
}

const nameSchema = z.string().min(1, 'the name is empty; give a folder or the name of a model');
const readingSchema = z.strictObject({
  aggregation: z.enum(AGGREGATIONS).optional(),
  weights: z.enum(WEIGHT_FORMS).optional(),
});
const loaderSchema = implementation<ModelLoader>(['load'], 'pass a model loader, such as hubModels()');

/**
 * Opens a model: a folder that `train`, `save` or the Trainer wrote, a pretrained model by its name, or a fine-tuned
 * checkpoint of transformers (`…ForSequenceClassification`, `…ForTokenClassification`), which is converted on first
 * use. A folder that this process has already loaded with the same {@link ServiceOptions} is not loaded again if it has
 * not changed: both models share the memory. Fails with a ValidationError, a NotFoundError that lists what exists, a
 * ModelFolderError, a ModelDownloadError, a MemoryLimitError or an AbortedError.
 * @param model the path of a folder, or a name.
 */
export function loadModel<const Name extends PretrainedModelName | (string & {})>(
  model: Name,
  options?: LoadModelOptions,
): ResultAsync<Model<AnswerOf<Name>>, OrchardError>;
export function loadModel(model: string, options: LoadModelOptions = {}): ResultAsync<Model<Answer>, OrchardError> {
  return callResult(open(model, options), `loading model ${model}`);
}

async function open(model: string, options: LoadModelOptions): Promise<Model> {
  const name = validate(nameSchema, model, ['model']);
  const {
    modelLoader,
    aggregation,
    weights,
    rules: givenRules,
    signal,
    ...service
  } = requireOptions(options, '`loadModel(name, { weights })`');
  const rules = validate(rulesSchema.optional(), givenRules, ['rules']);
  const loader = modelLoader && validate(loaderSchema, modelLoader, ['modelLoader']);
  const reading = validate(readingSchema, { aggregation, weights });
  const asked = modelAsOfNow(name);
  const openOnce = async () => {
    const placed = await askableFolder(await findModel(asked, { modelLoader: loader, signal }), reading);
    if (placed.checkpoint === undefined) requireNothingOf(reading, placed);
    return OpenModel.open(placed, { service, signal, rules });
  };
  return (await readUnchanged(asked, openOnce, (opened) => opened.close())).value;
}

/** Not by its class: another copy of this module may have opened the model. An application's own `Model` lacks the method. */
const opensEncoder = (model: Model): model is Model & Pick<OpenModel, 'openEncoder'> => 'openEncoder' in model;

/** The encoder that gives a model's vectors. @throws ModelFolderError, StorageError, AbortedError */
export async function encoderOf(model: Model, options: EncoderOptions): Promise<SentenceEncoder> {
  if (opensEncoder(model)) return model.openEncoder(options);
  const { SentenceEncoder } = await import('../search/index.js');
  const { name, directory } = model;
  return SentenceEncoder.ofModel({ name, directory }, options);
}

/** @throws ValidationError for too many rules, or terms, with those of the folder */
function checkedTogether(rules: readonly Rule[]): void {
  const msg = problemOfAll(rules);
  if (msg !== undefined)
    throw new ValidationError([
      { loc: ['rules'], msg: `together with the rules of the folder, ${msg}`, type: 'too_big' },
    ]);
}

/** @throws ValidationError for an option that would be ignored without a word */
function requireNothingOf(reading: Readonly<Record<string, unknown>>, { directory }: AskableModel): void {
  const given = Object.keys(reading).find((name) => reading[name] !== undefined);
  if (given === undefined) return;
  const msg = `applies only to checkpoints of transformers, and ${directory} is a model folder of Orchard; leave it out`;
  throw new ValidationError([{ loc: [given], msg, type: 'unsupported' }]);
}

/** Options of {@link exportModel}. */
export interface ExportOptions {
  /**
   * `float32` (default): `model.safetensors` and `onnx/model.onnx`, for Python libraries, transformers.js and other ONNX
   * runtimes. If the model has only 8-bit weights, as models of the catalogue do, they are converted back, and the copy
   * answers with the result. `int8`: only `onnx/model_quantized.onnx`, which is all that Orchard needs.
   */
  readonly weights?: CopiedWeights;
  /**
   * `web`: one file, which `openModel` of `orchard-nlp/web` reads, with the weights that the model answers with. `output` is
   * the path of the file, and `weights` must be left out.
   */
  readonly for?: 'web';
}

const exportSchema = z.lazy(() =>
  z.strictObject({
    folder: z.string().min(1),
    output: z.string().min(1),
    weights: z.enum(WEIGHT_FORMS).optional(),
    for: z.literal('web').optional(),
  }),
);

/**
 * Copies a model folder for use elsewhere, or writes it as one file for use outside Node.js.
 * @param folder the folder of a model that this library trained, of a model of the catalogue, or of a checkpoint of
 *   transformers, which becomes a model folder of the same class; for the web, also that of an encoder of
 *   sentence-transformers.
 * @param output a folder that is missing or empty, or holds a model, which is replaced; for the web, a new file or an
 *   earlier file of this kind.
 * @returns the path of the copy. Fails with a ValidationError if `output` holds other files, a ModelFolderError if
 *   `folder` is not a model or lacks what the copy needs, or a StorageError.
 */
export function exportModel(
  folder: string,
  output: string,
  options: ExportOptions = {},
): ResultAsync<string, OrchardError> {
  const exported = async () => {
    const asked = validate(
      exportSchema,
      { folder, output, ...requireOptions(options, "`exportModel(folder, output, { for: 'web' })`") },
      [],
    );
    const source = requirePath(asked.folder, 'folder');
    if (asked.for === 'web') {
      if (asked.weights !== undefined) throw fixedWeights();
      const { writeWebFile } = await import('./write-web-file.js');
      await writeWebFile(source, requirePath(asked.output, 'output'));
      return asked.output;
    }
    const target = requirePath(asked.output, 'output');
    await requireNotRead(target, { inputs: [source] });
    const write = (made: string) => convertFolder(source, made, asked.weights ?? 'float32');
    await writeFolder(target, MODEL_FOLDER, write, 'output');
    return asked.output;
  };
  return callResult(exported(), `exporting ${folder}`);
}

function fixedWeights(): ValidationError {
  const msg =
    'a file for the web always has the weights that the model answers with; to change them, export to a folder first, then export that folder';
  return new ValidationError([{ loc: ['weights'], msg, type: 'unsupported' }]);
}
