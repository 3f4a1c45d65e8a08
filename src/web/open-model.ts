import { err, errAsync, type Result, type ResultAsync } from 'neverthrow';
import { type Answer, type AnswerExplanation, type AnswerReading, type ModelText, toAnswer } from '../api/index.js';
import {
  type AnswerView,
  ClosedError,
  callResult,
  type FamilyName,
  InstallationError,
  InternalError,
  isError,
  isOrchardError,
  type ModelType,
  OF_ONE_TEXT,
  type OrchardError,
  toOrchardError,
} from '../contract/index.js';
import { provideKernels } from '../engine/index.js';
import { PortableModel } from '../inference/index.js';
import { type Rule, typesOfRules } from '../models/index.js';
import { type Passage, type Prompt, promptText, requireDifferent } from '../search/index.js';
import { SourceReader } from '../system/index.js';
import { joinParts } from '../text/index.js';
import {
  CallEnd,
  checked,
  nextTask,
  refusal,
  requireFlag,
  requireQuery,
  requireText,
  SLICE_MS,
  type WebCallOptions,
} from './calls.js';
import { type ModelSource, openSource } from './model-source.js';
import type { WebSearchIndex, WebSearchOptions } from './search-passages.js';

/** Options of {@link WebModel.predict}. */
export interface WebPredictOptions extends WebCallOptions {
  /**
   * Whether answers include `noneOfThese`, which says that perhaps none of the model's labels fits the text. Fails with
   * a ValidationError if the model has no threshold for it; only classifiers have one. Default false.
   */
  readonly noneOfThese?: boolean | undefined;
  /** Whether the rules of the model apply, if it has any. Default true. */
  readonly rules?: boolean | undefined;
}

/** Options of {@link WebModel.explain}. */
export interface WebExplainOptions extends WebPredictOptions {
  /** Classification only: the label to explain. Default: the most probable one. */
  readonly label?: string | undefined;
}

/** Options of {@link WebModel.embed}. */
export interface WebEmbedOptions extends WebCallOptions {
  /**
   * The prompt to put before each text: the name of one of the model's prompts, or `{ text }` for a prompt of your own.
   * A model that has no prompt `query` or `document` reads the texts without one. Default: the model's
   * `default_prompt_name`, if it has one.
   */
  readonly prompt?: Prompt | undefined;
}

/** Texts to answer one after another: an array, a generator, a stream and so on. */
export type WebTexts = Iterable<ModelText> | AsyncIterable<ModelText>;

/**
 * A model that runs in this thread, in WebAssembly. Its answers are those of the same model in Node.js, except for
 * rounding. While it computes, other tasks of the thread run about every 10 ms; if that is not often enough, put the
 * model into a Web Worker. Concurrent calls are allowed, and are answered one after another. All calls fail with an
 * AbortedError when the signal fires, a DeadlineError after the deadline, and a ClosedError after `close`.
 */
export interface WebModel<Given extends Answer = Answer> {
  readonly type: ModelType;
  readonly family: FamilyName;
  /** The kind of its answers. */
  readonly kind: AnswerView;
  /** The labels, or the entity types with those of its rules; empty for a model that ranks passages. */
  readonly labels: readonly string[];
  /** Whether the model reads pairs of texts, `{ text, text2 }`, instead of single texts. */
  readonly readsPairs: boolean;
  /**
   * The rules of its folder. An earlier rule takes precedence. The time that their patterns take is not limited here.
   */
  readonly rules: readonly Rule[];
  /**
   * Answers one text, or one pair, each text of at most 100,000 UTF-16 code units. Fails with a ValidationError for a
   * blank text, for a single text if the model reads pairs, and for a pair if it doesn't.
   */
  predict(text: ModelText, options?: WebPredictOptions): ResultAsync<Given, OrchardError>;
  /** Answers texts, in their order. Fails if one of them fails. */
  predict(texts: readonly ModelText[], options?: WebPredictOptions): ResultAsync<readonly Given[], OrchardError>;
  /**
   * Answers a stream of texts, in their order and in constant memory: a text is read when the one before it is answered. A
   * text that fails yields its error. An error that every text would have ends the stream.
   * @throws (from the loop) any error of the texts' iterator
   */
  predict(texts: WebTexts, options?: WebPredictOptions): AsyncGenerator<Result<Given, OrchardError>, void, undefined>;
  /**
   * Answers a text and shows how much each of its words influenced the answer. The lexical expert's part is exact; the
   * encoder's part is measured by leaving words out, which takes about as long as one answer per word, and at most as
   * long as 128 answers. The text has at most 10,000 UTF-16 code units. Fails with a ValidationError for a longer text,
   * an unknown `label`, and for a model that reads pairs.
   */
  explain(text: string, options?: WebExplainOptions): ResultAsync<AnswerExplanation<Given>, OrchardError>;
  /**
   * Computes the vector of each text, in their order. An encoder of sentence-transformers gives the vectors that it
   * defines: its poolings, its Dense, LayerNorm and Normalize layers, and its prompts. The vector of any other model is
   * the mean of the states of a text's first 256 tokens, of unit length, so that the dot product of two vectors is
   * their cosine. Fails with a ValidationError for an unknown prompt, and if the encoder knows no word of the texts, so
   * that all vectors are the same.
   */
  embed(texts: readonly string[], options?: WebEmbedOptions): ResultAsync<readonly Float32Array[], OrchardError>;
  /**
   * Makes passages searchable without training: by their words (BM25) and by their meaning (the vectors of their sentences).
   * Fails with a ValidationError that names the passage.
   */
  search<Data = unknown>(
    passages: Iterable<string | Passage<Data>>,
    options?: WebSearchOptions,
  ): ResultAsync<WebSearchIndex<Data>, OrchardError>;
  /** Frees the memory as soon as nothing else refers to it. Idempotent. */
  close(): void;
}

/** Options of {@link openModel}. */
export interface OpenWebModelOptions {
  /** Stops the loading. */
  readonly signal?: AbortSignal | undefined;
  /**
   * `orchard-nlp/kernels.wasm` as a compiled module, for runtimes that can't compile code, such as workerd. Default:
   * compiled from the bytes in this library.
   */
  readonly kernels?: WebAssembly.Module | undefined;
}

/**
 * Opens a model in a browser, an edge runtime, Node.js, Bun or Deno, without native code. It opens models that Orchard
 * trained, those of the catalogue and files that `exportModel` wrote for the web, with an encoder and a tokenizer of
 * BERT's kind. For others, it fails with an error that names what is not supported. Fails with a ValidationError, a
 * ModelFolderError, a ModelDownloadError, a StorageError, an InstallationError if WebAssembly can't be compiled, or an
 * AbortedError.
 */
export function openModel(source: ModelSource, options: OpenWebModelOptions = {}): ResultAsync<WebModel, OrchardError> {
  const doing = 'loading a model';
  const open = async () => {
    const { signal, kernels } = checked(options, ['signal', 'kernels']);
    const end = new CallEnd(doing, { signal });
    end.check();
    if (kernels !== undefined) provideKernels(kernels);
    try {
      const { read } = await end.waitFor(openSource(source, { signal }));
      return new OpenWebModel(await end.waitFor(PortableModel.open(read, (steps) => end.inSlices(steps))));
    } catch (thrown) {
      end.check();
      throw cannotCompile(thrown) ?? thrown;
    }
  };
  return callResult(open(), doing);
}

/** Of a place that refuses to compile WebAssembly. */
function cannotCompile(cause: unknown): InstallationError | undefined {
  if (!isError(cause) || cause.name !== 'CompileError') return undefined;
  const advice = `WebAssembly can't be compiled here (${cause.message}): allow 'wasm-unsafe-eval' in the Content Security Policy of this page or worker, or pass the compiled module as \`kernels\``;
  return new InstallationError('orchard-nlp/kernels.wasm', advice, { cause });
}

const PREDICT_OPTIONS = ['signal', 'deadlineMs', 'noneOfThese', 'rules'] as const;
const EXPLAIN_OPTIONS = [...PREDICT_OPTIONS, 'label'] as const;
const ASKING = 'asking a model';

class OpenWebModel implements WebModel {
  readonly type: ModelType;
  readonly family: FamilyName;
  readonly kind: AnswerView;
  readonly labels: readonly string[];
  readonly readsPairs: boolean;
  readonly rules: readonly Rule[];
  readonly #reading: AnswerReading;
  readonly #hasThreshold: boolean;
  #model: PortableModel | undefined;
  /** The work in progress, or the last one. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(model: PortableModel) {
    const { config, family, rules } = model;
    this.type = config.orchard.type;
    this.family = family.name;
    this.kind = family.answerView;
    this.labels = [...new Set([...family.classNames(config).names, ...typesOfRules(rules)])];
    this.readsPairs = config.orchard.parts === 'pair';
    this.rules = rules;
    const isBinary = config.orchard.labels.length === 2 && Object.keys(config.id2label).length === 1;
    const isMultilabel = config.problem_type === 'multi_label_classification' && !isBinary;
    this.#reading = { view: family.answerView, isMultilabel };
    this.#hasThreshold = config.orchard.evidence !== undefined;
    this.#model = model;
  }

  predict(text: ModelText, options?: WebPredictOptions): ResultAsync<Answer, OrchardError>;
  predict(texts: readonly ModelText[], options?: WebPredictOptions): ResultAsync<readonly Answer[], OrchardError>;
  predict(texts: WebTexts, options?: WebPredictOptions): AsyncGenerator<Result<Answer, OrchardError>, void, undefined>;
  predict(
    given: ModelText | WebTexts,
    options: WebPredictOptions = {},
  ):
    | ResultAsync<Answer | readonly Answer[], OrchardError>
    | AsyncGenerator<Result<Answer, OrchardError>, void, undefined> {
    if (Array.isArray(given)) return this.#all([...given], options);
    return isTexts(given) ? this.#stream(given, options) : this.#one(given, options);
  }

  explain(text: string, options: WebExplainOptions = {}): ResultAsync<AnswerExplanation, OrchardError> {
    return this.#call('explaining an answer', options, EXPLAIN_OPTIONS, async (model, end) => {
      if (this.readsPairs)
        throw refusal(['model'], "the model reads pairs of texts, and answers to pairs can't be explained");
      const { noneOfThese, rules, label } = this.#asked(options);
      const query = requireText(text, ['query']);
      if (label !== undefined && typeof label !== 'string') throw refusal(['label'], 'give a label of the model');
      const work = model.begin([query], { explain: [{ label }], ...(rules === false && { rules: [false] }) });
      const { results, truncated } = await finished(work, end);
      const { explained, ...result } = only(results);
      if (explained === undefined) throw new InternalError('the model gave no explanation');
      const told = noneOfThese ? result : { ...result, none_of_these: undefined };
      return { answer: toAnswer(told, this.#reading, truncated.length > 0), explained };
    });
  }

  embed(texts: readonly string[], options: WebEmbedOptions = {}): ResultAsync<readonly Float32Array[], OrchardError> {
    return this.#call('encoding texts', options, ['signal', 'deadlineMs', 'prompt'], async (model, end) => {
      if (!Array.isArray(texts)) throw refusal(['texts'], 'give an array of texts');
      const given = texts.map((text, at) => requireQuery(text, ['texts', at]));
      const vectors = await vectorsOf(model, given, requirePrompt(options.prompt), end);
      requireDifferent(given, vectors, 'the model');
      return vectors;
    });
  }

  search<Data = unknown>(
    passages: Iterable<string | Passage<Data>>,
    options: WebSearchOptions = {},
  ): ResultAsync<WebSearchIndex<Data>, OrchardError> {
    const known = ['signal', 'deadlineMs', 'language', 'onProgress'] as const;
    return this.#call('indexing passages', options, known, async (model, end) => {
      const { WordsAndVectors } = await import('./search-passages.js');
      return WordsAndVectors.indexing<Data>(passages, options, {
        end,
        sentence: model.config.orchard.sentence,
        vectorsOf: (texts) => vectorsOf(model, texts, 'document', end),
        ask: (questions, asking) =>
          asking.waitFor(this.#queued(asking, (opened) => vectorsOf(opened, questions, 'query', asking))),
      });
    });
  }

  close(): void {
    this.#model = undefined;
  }

  #one(text: ModelText, options: WebPredictOptions): ResultAsync<Answer, OrchardError> {
    return this.#call(ASKING, options, PREDICT_OPTIONS, async (model, end) =>
      only(await this.#answers(model, [this.#textOf(text, ['query'])], options, end)),
    );
  }

  #all(texts: readonly ModelText[], options: WebPredictOptions): ResultAsync<readonly Answer[], OrchardError> {
    return this.#call(ASKING, options, PREDICT_OPTIONS, (model, end) =>
      this.#answers(
        model,
        texts.map((text, at) => this.#textOf(text, ['texts', at])),
        options,
        end,
      ),
    );
  }

  async *#stream(
    texts: WebTexts,
    options: WebPredictOptions,
  ): AsyncGenerator<Result<Answer, OrchardError>, void, undefined> {
    try {
      checked(options, PREDICT_OPTIONS);
      this.#asked(options);
    } catch (thrown) {
      return yield err(toOrchardError(thrown, ASKING));
    }
    const { signal } = options;
    try {
      for await (const text of new SourceReader(texts, { doing: ASKING, signal })) {
        const answer = await this.#one(text, options);
        yield answer;
        if (answer.isErr() && !OF_ONE_TEXT.includes(answer.error.code)) return;
      }
    } catch (thrown) {
      if (!signal?.aborted || !isOrchardError(thrown)) throw thrown;
      yield err(thrown);
    }
  }

  /** As the model reads it. @throws ValidationError */
  #textOf(given: ModelText, loc: readonly (string | number)[]): string {
    const isPair = typeof given === 'object' && given !== null && 'text2' in given;
    if (this.readsPairs && isPair) {
      return joinParts(requireText(given.text, [...loc, 'text']), requireText(given.text2, [...loc, 'text2']));
    }
    if (this.readsPairs) throw refusal(loc, 'the model reads pairs of texts; give { text, text2 }');
    if (isPair) throw refusal(loc, 'the model reads single texts, but this is a pair; give a string');
    return requireText(given, loc);
  }

  async #answers(
    model: PortableModel,
    texts: readonly string[],
    options: WebPredictOptions,
    end: CallEnd,
  ): Promise<Answer[]> {
    const { noneOfThese, rules } = this.#asked(options);
    const work = model.begin(texts, rules === false ? { rules: texts.map(() => false) } : {});
    const { results, truncated } = await finished(work, end);
    const cut = new Set(truncated);
    return results.map((result, at) => {
      if (result === undefined) throw new InternalError('the model gave no result');
      const told = noneOfThese ? result : { ...result, none_of_these: undefined };
      return toAnswer(told, this.#reading, cut.has(at));
    });
  }

  /** @throws ValidationError for what the model can't be asked */
  #asked<Options extends WebPredictOptions>(options: Options): Options {
    requireFlag('noneOfThese', options.noneOfThese);
    requireFlag('rules', options.rules);
    if (options.noneOfThese && !this.#hasThreshold)
      throw refusal(['noneOfThese'], 'the model has no threshold for `noneOfThese`; leave it out');
    if (this.#opened().config.orchard.sentence !== undefined)
      throw refusal(['model'], 'the model is a sentence encoder, which gives no answers; call embed or search');
    return options;
  }

  #opened(): PortableModel {
    if (this.#model === undefined) throw new ClosedError('model');
    return this.#model;
  }

  #queued<Value>(end: CallEnd, work: (model: PortableModel) => Promise<Value>): Promise<Value> {
    const done = this.#last.then(() => {
      end.check();
      return work(this.#opened());
    });
    this.#last = done.catch(() => undefined);
    return done;
  }

  #call<Options extends WebCallOptions, Value>(
    doing: string,
    options: Options,
    known: readonly (keyof Options & string)[],
    work: (model: PortableModel, end: CallEnd) => Promise<Value>,
  ): ResultAsync<Value, OrchardError> {
    if (this.#model === undefined) return errAsync(new ClosedError('model'));
    const begin = async () => {
      const end = new CallEnd(doing, checked(options, known));
      return end.waitFor(this.#queued(end, (model) => work(model, end)));
    };
    return callResult(begin(), doing);
  }
}

function isTexts(given: unknown): given is WebTexts {
  return typeof given === 'object' && given !== null && (Symbol.asyncIterator in given || Symbol.iterator in given);
}

/** @throws AbortedError, DeadlineError */
async function finished(work: ReturnType<PortableModel['begin']>, end: CallEnd) {
  for (;;) {
    end.check();
    const slice = await work.advance(SLICE_MS);
    if (!slice.isUnfinished) return slice;
    await nextTask();
  }
}

/** @throws ValidationError for an unknown prompt, AbortedError, DeadlineError */
async function vectorsOf(
  model: PortableModel,
  texts: readonly string[],
  prompt: Prompt | undefined,
  end: CallEnd,
): Promise<Float32Array[]> {
  const { sentence } = model.config.orchard;
  const before = promptText(sentence ?? { prompts: {} }, prompt);
  const asked = (text: string) => (sentence?.include_prompt === false ? joinParts(before, text) : before + text);
  return end.inSlices(
    (function* () {
      const vectors: Float32Array[] = [];
      for (const text of texts) {
        vectors.push(model.vectorOf(asked(text)));
        yield;
      }
      return vectors;
    })(),
  );
}

/** @throws ValidationError */
function requirePrompt(prompt: Prompt | undefined): Prompt | undefined {
  const text = typeof prompt === 'object' && prompt !== null ? prompt.text : prompt;
  if (prompt === undefined || (typeof text === 'string' && text !== '') || (text === '' && prompt !== text))
    return prompt;
  throw refusal(['prompt'], "give the name of one of the model's prompts, or { text } for a prompt of your own");
}

function only<Item>([item]: readonly (Item | undefined)[]): Item {
  if (item === undefined) throw new InternalError('the model gave no result');
  return item;
}
