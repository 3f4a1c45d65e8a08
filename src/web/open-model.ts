import { errAsync, type ResultAsync } from 'neverthrow';
import { type Answer, type AnswerExplanation, type AnswerReading, toAnswer } from '../api/index.js';
import {
  AbortedError,
  type AnswerView,
  ClosedError,
  callResult,
  type FamilyName,
  InternalError,
  MAX_QUERY_CHARACTERS,
  type ModelType,
  type OrchardError,
  ValidationError,
} from '../contract/index.js';
import { provideKernels } from '../engine/index.js';
import { unitVector } from '../families/index.js';
import { PortableModel } from '../inference/index.js';
import { type ModelSource, openSource } from './model-source.js';
import type { WebSearchIndex, WebSearchOptions } from './search-passages.js';

/** Options of one call of a {@link WebModel}. */
export interface WebCallOptions {
  /** Stops the call between two texts, or runs of the encoder; a run takes some milliseconds. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of {@link WebModel.predict}. */
export interface WebPredictOptions extends WebCallOptions {
  /**
   * Whether answers say, as `noneOfThese`, that the model's labels may not fit the text. Fails with a ValidationError if the
   * model has no threshold for it; only classifiers have one. Default false.
   */
  readonly noneOfThese?: boolean | undefined;
}

/** Options of {@link WebModel.explain}. */
export interface WebExplainOptions extends WebPredictOptions {
  /** Classification only: the label to explain. Default: the most probable one. */
  readonly label?: string | undefined;
}

/**
 * A model that runs in this thread, in WebAssembly. Its answers are those of the same model in Node, but for the rounding of
 * sums. While it works, other tasks of the thread get their turn every 10 ms; put it into a Web Worker if that is too seldom.
 * All calls fail with an AbortedError when the signal fires, and a ClosedError after `close`.
 */
export interface WebModel<Given extends Answer = Answer> {
  readonly type: ModelType;
  readonly family: FamilyName;
  /** The kind of its answers. */
  readonly kind: AnswerView;
  /** The labels, or the entity types; empty for a model that ranks passages. */
  readonly labels: readonly string[];
  /** Answers one text of at most 100,000 UTF-16 code units. */
  predict(text: string, options?: WebPredictOptions): ResultAsync<Given, OrchardError>;
  /** Answers texts, in their order. Fails if one of them fails. */
  predict(texts: readonly string[], options?: WebPredictOptions): ResultAsync<readonly Given[], OrchardError>;
  /**
   * Answers a text and tells which of its words led to the answer. The lexical expert's part is exact; the encoder's part is
   * measured by leaving words out, which takes as long as a few dozen answers. Fails with a ValidationError for an unknown
   * `label`.
   */
  explain(text: string, options?: WebExplainOptions): ResultAsync<AnswerExplanation<Given>, OrchardError>;
  /**
   * Vectors of texts, in their order: the mean of the states of a text's first 256 tokens, of unit length, so that the dot
   * product of two vectors is their cosine.
   */
  embed(texts: readonly string[], options?: WebCallOptions): ResultAsync<readonly Float32Array[], OrchardError>;
  /**
   * Makes passages searchable without training: by their words (BM25) and by their meaning (the vectors of their sentences).
   */
  search(passages: Iterable<string>, options?: WebSearchOptions): ResultAsync<WebSearchIndex, OrchardError>;
  /** Frees the memory as soon as nothing else refers to it. Idempotent. */
  close(): void;
}

/** Options of {@link openModel}. */
export interface OpenWebModelOptions {
  /** Stops the loading. */
  readonly signal?: AbortSignal | undefined;
  /**
   * `orchard-nlp/kernels.wasm` as a compiled module, for places that compile no code at run time, such as workerd. Default:
   * it is compiled from the bytes that this library includes.
   */
  readonly kernels?: WebAssembly.Module | undefined;
}

/**
 * Opens a model in a browser, at the edge, in Node, Bun or Deno, without a native module. Models are those that Orchard
 * trains and its catalogue has; an encoder of another kind than BERT, or a tokenizer of another kind, is refused by name.
 * Fails with a ValidationError, a ModelFolderError, a ModelDownloadError, a StorageError or an AbortedError.
 */
export function openModel(source: ModelSource, options: OpenWebModelOptions = {}): ResultAsync<WebModel, OrchardError> {
  const open = async () => {
    const { signal, kernels } = checked(options, ['signal', 'kernels']);
    requireNotAborted(signal, 'loading a model');
    if (kernels !== undefined) provideKernels(kernels);
    try {
      const { read } = await openSource(source, { signal });
      return new OpenWebModel(await PortableModel.open(read));
    } catch (thrown) {
      requireNotAborted(signal, 'loading a model');
      throw thrown;
    }
  };
  return callResult(open(), 'loading a model');
}

class OpenWebModel implements WebModel {
  readonly type: ModelType;
  readonly family: FamilyName;
  readonly kind: AnswerView;
  readonly labels: readonly string[];
  readonly #reading: AnswerReading;
  readonly #hasThreshold: boolean;
  #model: PortableModel | undefined;
  /** The work in progress, or the last one: texts are answered one call after another. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(model: PortableModel) {
    const { config, family } = model;
    this.type = config.orchard.type;
    this.family = family.name;
    this.kind = family.answerView;
    this.labels = family.classNames(config).names;
    const isBinary = config.orchard.labels.length === 2 && Object.keys(config.id2label).length === 1;
    const isMultilabel = config.problem_type === 'multi_label_classification' && !isBinary;
    this.#reading = { view: family.answerView, isMultilabel };
    this.#hasThreshold = config.orchard.evidence !== undefined;
    this.#model = model;
  }

  predict(text: string, options?: WebPredictOptions): ResultAsync<Answer, OrchardError>;
  predict(texts: readonly string[], options?: WebPredictOptions): ResultAsync<readonly Answer[], OrchardError>;
  predict(
    given: string | readonly string[],
    options: WebPredictOptions = {},
  ): ResultAsync<Answer | readonly Answer[], OrchardError> {
    return this.#call('asking a model', async (model) => {
      const { signal, noneOfThese } = checked(options, ['signal', 'noneOfThese']);
      this.#requireThreshold(noneOfThese);
      const isList = Array.isArray(given);
      const texts = isList
        ? given.map((text, at) => requireText(text, ['texts', at]))
        : [requireText(given, ['query'])];
      const answers = await this.#answers(model, texts, { signal, noneOfThese });
      return isList ? answers : only(answers);
    });
  }

  explain(text: string, options: WebExplainOptions = {}): ResultAsync<AnswerExplanation, OrchardError> {
    return this.#call('explaining an answer', async (model) => {
      const { signal, noneOfThese, label } = checked(options, ['signal', 'noneOfThese', 'label']);
      this.#requireThreshold(noneOfThese);
      const work = model.begin([requireText(text, ['query'])], { explain: [{ label }] });
      const { results, truncated } = await finished(work, signal, 'explaining an answer');
      const { explained, ...result } = only(results);
      if (explained === undefined) throw new InternalError('the model gave no explanation');
      const told = noneOfThese ? result : { ...result, none_of_these: undefined };
      return { answer: toAnswer(told, this.#reading, truncated.length > 0), explained };
    });
  }

  embed(texts: readonly string[], options: WebCallOptions = {}): ResultAsync<readonly Float32Array[], OrchardError> {
    return this.#call('encoding texts', async (model) => {
      const { signal } = checked(options, ['signal']);
      if (!Array.isArray(texts)) throw refusal(['texts'], 'give a list of texts');
      return vectorsOf(
        model,
        texts.map((text, at) => requireQuery(text, ['texts', at])),
        signal,
      );
    });
  }

  search(passages: Iterable<string>, options: WebSearchOptions = {}): ResultAsync<WebSearchIndex, OrchardError> {
    return this.#call('indexing passages', async (model) => {
      const { signal, language = 'english' } = checked(options, ['signal', 'language']);
      const texts = Array.from(passages, (text, at) => requireText(text, ['passages', at]));
      if (texts.length === 0) throw refusal(['passages'], 'give at least one passage');
      const { WordsAndVectors } = await import('./search-passages.js');
      const index = new WordsAndVectors(texts, language, (given, stop) =>
        this.#queued(() => vectorsOf(this.#opened(), given, stop)),
      );
      await index.addVectors((given) => vectorsOf(model, given, signal));
      return index;
    });
  }

  close(): void {
    this.#model = undefined;
  }

  async #answers(
    model: PortableModel,
    texts: readonly string[],
    { signal, noneOfThese }: WebPredictOptions,
  ): Promise<Answer[]> {
    const { results, truncated } = await finished(model.begin(texts), signal, 'asking a model');
    const cut = new Set(truncated);
    return results.map((result, at) => {
      if (result === undefined) throw new InternalError('the model gave no result');
      const told = noneOfThese ? result : { ...result, none_of_these: undefined };
      return toAnswer(told, this.#reading, cut.has(at));
    });
  }

  #requireThreshold(noneOfThese: boolean | undefined): void {
    if (!noneOfThese || this.#hasThreshold) return;
    throw refusal(['noneOfThese'], 'the model has no threshold below which none of its labels fits; leave it out');
  }

  #opened(): PortableModel {
    if (this.#model === undefined) throw new ClosedError('model');
    return this.#model;
  }

  #queued<Value>(work: () => Promise<Value>): Promise<Value> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }

  #call<Value>(doing: string, work: (model: PortableModel) => Promise<Value>): ResultAsync<Value, OrchardError> {
    if (this.#model === undefined) return errAsync(new ClosedError('model'));
    return callResult(
      this.#queued(() => work(this.#opened())),
      doing,
    );
  }
}

/** How long other tasks of the thread wait. */
const SLICE_MS = 10;

/** @throws AbortedError */
async function finished(work: ReturnType<PortableModel['begin']>, signal: AbortSignal | undefined, doing: string) {
  for (;;) {
    requireNotAborted(signal, doing);
    const slice = await work.advance(SLICE_MS);
    if (!slice.isUnfinished) return slice;
    await nextTask();
  }
}

async function vectorsOf(
  model: PortableModel,
  texts: readonly string[],
  signal: AbortSignal | undefined,
): Promise<Float32Array[]> {
  const vectors: Float32Array[] = [];
  let since = performance.now();
  for (const text of texts) {
    requireNotAborted(signal, 'encoding texts');
    vectors.push(unitVector(model.meanState(text)));
    if (performance.now() - since < SLICE_MS) continue;
    await nextTask();
    since = performance.now();
  }
  return vectors;
}

/** Other tasks of the thread run first. Unlike a timer, a message is not delayed by 4 ms. */
function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    const heard = () => {
      port1.close();
      resolve();
    };
    port1.addEventListener('message', heard, { once: true });
    port1.start();
    port2.postMessage(undefined);
  });
}

function requireNotAborted(signal: AbortSignal | undefined, doing: string): void {
  if (signal?.aborted) throw new AbortedError(doing, { cause: signal.reason });
}

/** @throws ValidationError for an option that no such call has: it would be ignored without a word */
function checked<Options extends object>(options: Options, known: readonly (keyof Options & string)[]): Options {
  for (const name of Object.keys(options)) {
    const isKnown = known.some((each) => each === name);
    if (!isKnown) throw refusal([name], `no such option; the options are ${known.join(', ')}`);
  }
  return options;
}

function requireQuery(text: unknown, loc: readonly (string | number)[]): string {
  if (typeof text !== 'string') throw refusal(loc, 'give a text');
  if (text.length <= MAX_QUERY_CHARACTERS) return text;
  const most = MAX_QUERY_CHARACTERS.toLocaleString('en-US');
  throw refusal(loc, `at most ${most} UTF-16 code units; ask about parts of the text instead`);
}

/** No model can say anything about a blank text. */
function requireText(text: unknown, loc: readonly (string | number)[]): string {
  const query = requireQuery(text, loc);
  if (query.trim() === '') throw refusal(loc, 'the text is blank; leave it out');
  return query;
}

function refusal(loc: readonly (string | number)[], msg: string): ValidationError {
  return new ValidationError([{ loc, msg, type: 'invalid' }]);
}

function only<Item>([item]: readonly (Item | undefined)[]): Item {
  if (item === undefined) throw new InternalError('the model gave no result');
  return item;
}
