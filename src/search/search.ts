import type { ResultAsync } from 'neverthrow';
import * as z from 'zod';
import {
  callResult,
  DEVICES,
  type Device,
  NotFoundError,
  type OrchardError,
  querySchema,
  RUNTIMES,
  type Runtime,
  requireOptions,
  signalSchema,
  ValidationError,
  validate,
} from '../contract/index.js';
import { modelAsOfNow } from '../models/index.js';
import { listAsOfNow, requirePath } from '../system/index.js';
import { trainingLanguage } from '../training/index.js';
import { type EmbedOptions, embedSchema, findEncoder, SentenceEncoder } from './embed.js';
import {
  CrossEncoder,
  pairModelSchema,
  rerankDepthSchema,
  type ScorePairsOptions,
  withCrossEncoder,
} from './score-pairs.js';

/** Options of {@link search}. */
export interface SearchOptions extends Omit<EmbedOptions, 'prompt'> {
  /**
   * The name of a backbone or pretrained model, `owner/name` on the Hugging Face Hub, or the folder of a backbone or
   * model. Default: `<language>-mini`.
   */
  readonly model?: string | undefined;
  /**
   * The language of the passages: an English name, or a code such as `en-GB`. English words are compared by their
   * stems. Default `english`.
   */
  readonly language?: string | undefined;
  /**
   * A cross-encoder that reads the question together with each of the best passages and reorders them: a folder, or
   * `owner/name` on the Hugging Face Hub, such as `cross-encoder/ms-marco-MiniLM-L6-v2`. Default: none.
   */
  readonly rerank?: string | undefined;
  /** Number of passages that the cross-encoder reads per question, 1 to 1,000, but at least `k`. Default 30. */
  readonly rerankDepth?: number | undefined;
  /**
   * Returns the index as soon as passages can be found by their words. Their vectors are computed in the background;
   * until then, passages are ranked only by their words. Default false.
   */
  readonly background?: boolean | undefined;
  /** Called while vectors are computed, in the background too. */
  readonly onProgress?: ((progress: IndexProgress) => void) | undefined;
}

/** How much of an index has vectors. */
export interface IndexProgress {
  /** Sentences with a vector. */
  readonly done: number;
  /** All sentences. */
  readonly total: number;
}

/** A passage with an id, and with data of the application. */
export interface Passage<Data> {
  /**
   * 1 to 512 UTF-16 code units. Must differ from the ids of all other passages. Default: the number of passages that
   * were added before it.
   */
  readonly id?: string | undefined;
  /** Not empty; at most 100,000 UTF-16 code units. */
  readonly text: string;
  /** Returned with the passage, and saved as JSON. */
  readonly data?: Data | undefined;
}

/** Options of {@link openSearch}. */
export interface OpenSearchOptions {
  /** The device that encodes questions: `cpu`, the name of a device, or `auto`. Default `cpu`. */
  readonly device?: Device | undefined;
  /** What runs the encoder for questions: `onnx`, `wasm` or `auto`, as for `loadModel`. Default `auto`. */
  readonly runtime?: Runtime | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A passage that was found. */
export interface FoundPassage<Data = unknown> {
  readonly id: string;
  readonly passage: string;
  /** Absent if the passage was given without data. */
  readonly data?: Data | undefined;
  /** Its position among the passages of the index, in the order in which they were added. */
  readonly index: number;
  /**
   * The probability that it answers the question, 0 to 1. If all are below one half, perhaps no passage answers it. With
   * `rerank`: the sigmoid of the cross-encoder's output.
   */
  readonly score: number;
}

/** Options of `SearchIndex.search`. */
export interface SearchCallOptions<Data = unknown> {
  /** Number of passages to find, 1 to 1,000. Default 10. */
  readonly k?: number | undefined;
  /**
   * Leaves out passages with a lower score, 0 to 1. With 0.5, an empty result means that probably no passage answers the
   * question. Default 0.
   */
  readonly minScore?: number | undefined;
  /**
   * A filter, which returns whether a passage may be found. Called for each passage before ranking; must return true or
   * false.
   */
  readonly where?: ((data: Data | undefined, id: string) => boolean) | undefined;
  /**
   * Number of passages that the index's cross-encoder reads for this question, 1 to 1,000, but at least `k`; false for
   * none. Default: the index's `rerankDepth`.
   */
  readonly rerank?: number | false | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Options of `SearchIndex.add` and `SearchIndex.update`. */
export interface ChangeOptions {
  /** Undoes the change unless it is complete. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Passages that can be searched by words (BM25) and by meaning (the vectors of an encoder), without training. Passages can
 * be added, changed and deleted: the ranking is that of a new index of the same passages. Concurrent calls are allowed;
 * changes are made one after another. All calls fail with a ClosedError after `close`.
 */
export interface SearchIndex<Data = unknown> extends AsyncDisposable {
  /** Number of passages. */
  readonly size: number;
  /** The model whose encoder reads the texts. */
  readonly model: string;
  /** How much of the index has vectors. */
  readonly progress: IndexProgress;
  /**
   * Finds the passages that best fit a question, best first; none if all score below `minScore`. Fails with a
   * ValidationError, also if `where` throws; an OverloadedError while too many questions wait, or an AbortedError.
   */
  search(query: string, options?: SearchCallOptions<Data>): ResultAsync<readonly FoundPassage<Data>[], OrchardError>;
  /**
   * Adds passages, all or none. They are found by their words at once, and by their meaning when the call ends, or, with
   * `background`, some time later. Fails with a ValidationError that names the passage, also if its id is taken, or with
   * an AbortedError.
   */
  add(passages: Iterable<string | Passage<Data>>, options?: ChangeOptions): ResultAsync<void, OrchardError>;
  /**
   * Replaces passages with others that have the same ids, all or none. They count as added last. Fails as `add` does,
   * and with a ValidationError for an id that no passage has.
   */
  update(
    passages: Iterable<Passage<Data> & { readonly id: string }>,
    options?: ChangeOptions,
  ): ResultAsync<void, OrchardError>;
  /** Deletes passages. Ids that no passage has are ignored. @returns how many were deleted */
  delete(ids: Iterable<string>): ResultAsync<number, OrchardError>;
  /** Waits until every sentence has a vector. Fails with the first error of the encoder. */
  complete(): ResultAsync<void, OrchardError>;
  /**
   * Writes the index to a self-contained folder that `openSearch` opens, once it is complete. The folder must be missing
   * or empty, or hold an index, which is replaced in one step. Fails with a ValidationError, also for data that JSON
   * can't hold, or with a StorageError.
   */
  save(folder: string): ResultAsync<void, OrchardError>;
  /** Frees all resources. Idempotent. */
  close(): Promise<void>;
}

/** Options of {@link rerank}. */
export interface RerankOptions extends ScorePairsOptions {
  /** Number of passages to return. Default: all. */
  readonly k?: number | undefined;
  /** Leaves out passages with a lower score, 0 to 1. Default 0. */
  readonly minScore?: number | undefined;
}

const searchSchema = z.lazy(() =>
  embedSchema.extend({
    model: z.string().min(1, 'the name is empty').optional(),
    language: z.string().min(1).max(40).optional(),
    rerank: z.string().min(1, 'the name is empty').optional(),
    rerankDepth: rerankDepthSchema.default(30),
    background: z.boolean().default(false),
    onProgress: z
      .custom<SearchOptions['onProgress']>((given) => typeof given === 'function', 'give a function')
      .optional(),
  }),
);
const rerankSchema = z.lazy(() =>
  pairModelSchema.extend({ k: z.int().min(1).optional(), minScore: z.number().min(0).max(1).default(0) }),
);
const openSchema = z.lazy(() =>
  z.strictObject({
    device: z.enum(DEVICES).default('cpu'),
    runtime: z.enum(RUNTIMES).default('auto'),
    signal: signalSchema.optional(),
  }),
);
/**
 * Makes passages searchable without training: by their words (BM25) and by their meaning (the vectors of their sentences,
 * from a backbone or any model). A folder of sentence-transformers gives the vectors that it defines, with its prompts for
 * questions (`query`) and passages (`document`, `passage` or `corpus`), and they are compared by its `similarity_fn_name`,
 * which may be cosine, dot or euclidean. Reads a few hundred sentences per second.
 * Fails with a ValidationError that names the passage, a NotFoundError for `model`, a ModelFolderError or an AbortedError.
 */
export function search<Data = unknown>(
  passages: Iterable<string | Passage<Data>>,
  options: SearchOptions = {},
): ResultAsync<SearchIndex<Data>, OrchardError> {
  const work = async () => {
    const { model, language, modelLoader, device, runtime, rerank, rerankDepth, signal, ...building } = validate(
      searchSchema,
      requireOptions(options ?? {}, '`search(passages, { model })`'),
    );
    const languageName = trainingLanguage(language === undefined ? {} : { language });
    const name = modelAsOfNow(model ?? `${languageName}-mini`);
    const rerankName = rerank && modelAsOfNow(rerank);
    const find = (name: string) => findEncoder(name, { modelLoader, signal });
    const opening = { service: { device, runtime }, signal };
    const list = listAsOfNow(passages);
    const { createIndex, passagesOf } = await indexing();
    const given = await passagesOf(list);
    const placed = await find(name).catch((thrown: unknown) => {
      const isChosenByLanguage = model === undefined && language !== undefined;
      throw isChosenByLanguage && thrown instanceof NotFoundError ? noEncoderOf(languageName) : thrown;
    });
    const reranking = rerankName && (await find(rerankName));
    const encoder = await SentenceEncoder.ofModel(placed, opening);
    let reranker: CrossEncoder | undefined;
    try {
      if (reranking) reranker = await CrossEncoder.ofModel(reranking, opening);
      const parts = { encoder, reranker: reranker && { encoder: reranker, depth: rerankDepth } };
      return await createIndex(given, parts, { ...building, stem: languageName === 'english', signal });
    } catch (thrown) {
      await Promise.all([encoder.close(), reranker?.close()]);
      throw thrown;
    }
  };
  return callResult(work(), 'indexing passages');
}

function noEncoderOf(language: string): ValidationError {
  const msg = `no encoder for ${language} is installed; name one that knows the language with \`model\``;
  return new ValidationError([{ loc: ['language'], msg, type: 'missing_encoder' }]);
}

/**
 * Opens an index that `save` wrote. Fails with a ModelFolderError if the folder holds no index, or with an
 * AbortedError.
 */
export function openSearch(folder: string, options: OpenSearchOptions = {}): ResultAsync<SearchIndex, OrchardError> {
  const work = async () => {
    const directory = requirePath(validate(z.string().min(1, 'the path is empty'), folder, ['folder']), 'folder');
    const { device, runtime, signal } = validate(
      openSchema,
      requireOptions(options ?? {}, '`openSearch(folder, { device })`'),
    );
    const { openIndex } = await indexing();
    return openIndex(directory, { service: { device, runtime }, signal });
  };
  return callResult(work(), `opening ${folder}`);
}

/**
 * Orders passages by the score that a cross-encoder gives to the question with each of them, best first. Passages with
 * equal scores keep their order. A score is the sigmoid of the model's output, 0 to 1. Use it for passages that another
 * search has found: a cross-encoder takes some milliseconds per passage. The two models used last stay open for the
 * next call. Fails as `scorePairs` does, and with a ValidationError that names the passage.
 */
export function rerank<Data = unknown>(
  question: string,
  passages: Iterable<string | Passage<Data>>,
  options: RerankOptions,
): ResultAsync<readonly FoundPassage<Data>[], OrchardError> {
  const work = async () => {
    const { k, minScore, ...given } = validate(
      rerankSchema,
      requireOptions(options, '`rerank(question, passages, { model })`'),
    );
    const asked = { ...given, model: modelAsOfNow(given.model) };
    const text = validate(querySchema, question, ['question']);
    const list = listAsOfNow(passages);
    const [{ passagesOf }, { numbered }] = await Promise.all([indexing(), import('./passage-collection.js')]);
    const found = numbered(await passagesOf(list), 0, () => false);
    const unordered = found.map(({ text: passage, ...rest }, index) => ({ ...rest, passage, index }));
    const choice = { k: k ?? unordered.length, minScore, signal: asked.signal };
    return withCrossEncoder(asked, (encoder) => encoder.ordered(text, unordered, choice));
  };
  return callResult(work(), 'reranking passages');
}

/** Loaded on first use: most programs don't search. */
const indexing = () => import('./search-index.js');
