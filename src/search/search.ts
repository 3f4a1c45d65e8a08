import { ResultAsync } from 'neverthrow';
import * as z from 'zod';
import { DEVICES, type Device, type OrchardError, querySchema, toOrchardError, validate } from '../contract/index.js';
import { modelAsOfNow } from '../models/index.js';
import { requirePath, validateWithPauses } from '../system/index.js';
import { trainingLanguage } from '../training/index.js';
import { type EmbedOptions, embedSchema, findEncoder, SentenceEncoder } from './embed.js';
import { CrossEncoder } from './score-pairs.js';

/** Options of {@link search}. */
export interface SearchOptions extends Omit<EmbedOptions, 'prompt'> {
  /** An English name, or a code such as `en-GB`. English words are compared by their stems. Default `english`. */
  readonly language?: string | undefined;
  /**
   * A cross-encoder that reads the question together with each of the best passages and orders them anew: a folder, or
   * `owner/name` on the Hugging Face Hub, such as `cross-encoder/ms-marco-MiniLM-L6-v2`. Default: none.
   */
  readonly rerank?: string | undefined;
  /** Number of passages that the cross-encoder reads per question, 1 to 1,000, but at least `k`. Default 30. */
  readonly rerankDepth?: number | undefined;
}

/** Options of {@link openSearch}. */
export interface OpenSearchOptions {
  /** The device that encodes questions: `cpu`, the name of a device, or `auto`. Default `cpu`. */
  readonly device?: Device | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A passage that was found. */
export interface FoundPassage {
  readonly passage: string;
  /** Its position among the given passages. */
  readonly index: number;
  /**
   * The probability that it answers the question, 0 to 1. If all are below one half, perhaps no passage answers it. With
   * `rerank`: the sigmoid of the cross-encoder's output.
   */
  readonly score: number;
}

/** Options of `SearchIndex.search`. */
export interface SearchCallOptions {
  /** Number of passages to find, 1 to 1,000. Default 10. */
  readonly k?: number | undefined;
  /**
   * Leaves out passages with a lower score, 0 to 1. With 0.5, an empty result means that probably no passage answers the
   * question. Default 0.
   */
  readonly minScore?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Passages that can be searched by words (BM25) and by meaning (the vectors of an encoder), without training. Concurrent
 * calls are allowed. All calls fail with a ClosedError after `close`.
 */
export interface SearchIndex extends AsyncDisposable {
  /** Number of passages. */
  readonly size: number;
  /** The model whose encoder reads the texts. */
  readonly model: string;
  /**
   * Finds the passages that best fit a question, best first; none if all score below `minScore`. Fails with a
   * ValidationError, an OverloadedError while too many questions wait, or an AbortedError.
   */
  search(query: string, options?: SearchCallOptions): ResultAsync<readonly FoundPassage[], OrchardError>;
  /**
   * Writes the index to a self-contained folder that `openSearch` opens. The folder must be missing or empty, or hold an
   * index, which is replaced. Fails with a ValidationError or a StorageError.
   */
  save(folder: string): ResultAsync<void, OrchardError>;
  /** Frees all resources. Idempotent. */
  close(): Promise<void>;
}

const searchSchema = z.lazy(() =>
  embedSchema.extend({
    model: z.string().min(1, 'the name is empty').optional(),
    language: z.string().min(1).max(40).optional(),
    rerank: z.string().min(1, 'the name is empty').optional(),
    rerankDepth: z.int().min(1).max(1000).default(30),
  }),
);
const openSchema = z.lazy(() =>
  z.strictObject({
    device: z.enum(DEVICES).default('cpu'),
    signal: z.instanceof(AbortSignal).optional(),
  }),
);
const passagesSchema = z.lazy(() =>
  z.array(querySchema.min(1, 'the passage is empty')).min(1, 'give at least one passage'),
);
/**
 * Makes passages searchable without training: by their words (BM25) and by their meaning (the vectors of their sentences,
 * from a backbone or any model). A folder of sentence-transformers gives the vectors that it defines, with its prompts for
 * questions (`query`) and passages (`document`, `passage` or `corpus`), and they are compared by its `similarity_fn_name`,
 * which may be cosine, dot or euclidean. Reads a few hundred sentences per second.
 * Fails with a ValidationError that names the passage, a NotFoundError for `model`, a ModelFolderError or an AbortedError.
 */
export function search(
  passages: Iterable<string>,
  options: SearchOptions = {},
): ResultAsync<SearchIndex, OrchardError> {
  const work = async () => {
    const { model, language, modelLoader, device, rerank, rerankDepth, signal } = validate(searchSchema, options ?? {});
    const languageName = trainingLanguage(language === undefined ? {} : { language });
    const name = modelAsOfNow(model ?? `${languageName}-mini`);
    const rerankName = rerank && modelAsOfNow(rerank);
    const given = typeof passages === 'string' ? passages : [...passages];
    const texts = await validateWithPauses(passagesSchema, given, ['passages']);
    const find = (name: string) => findEncoder(name, { modelLoader, signal });
    const opening = { service: { device }, signal };
    const [placed, reranking] = [await find(name), rerankName && (await find(rerankName))];
    const { createIndex } = await indexing();
    const encoder = await SentenceEncoder.ofModel(placed, opening);
    let reranker: CrossEncoder | undefined;
    try {
      if (reranking) reranker = await CrossEncoder.ofModel(reranking, opening);
      const parts = { encoder, reranker: reranker && { encoder: reranker, depth: rerankDepth } };
      return await createIndex(texts, parts, { stem: languageName === 'english', signal });
    } catch (thrown) {
      await Promise.all([encoder.close(), reranker?.close()]);
      throw thrown;
    }
  };
  return ResultAsync.fromPromise(work(), (thrown) => toOrchardError(thrown, 'indexing passages'));
}

/** Opens a saved index. Fails with a ModelFolderError if the folder holds no index, or with an AbortedError. */
export function openSearch(folder: string, options: OpenSearchOptions = {}): ResultAsync<SearchIndex, OrchardError> {
  const work = async () => {
    const directory = requirePath(validate(z.string().min(1, 'the path is empty'), folder, ['folder']), 'folder');
    const { device, signal } = validate(openSchema, options ?? {});
    const { openIndex } = await indexing();
    return openIndex(directory, { service: { device }, signal });
  };
  return ResultAsync.fromPromise(work(), (thrown) => toOrchardError(thrown, `opening ${folder}`));
}

/** Loaded on first use: most programs don't search. */
const indexing = () => import('./search-index.js');
