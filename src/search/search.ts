import { resolve } from 'node:path';
import { ResultAsync } from 'neverthrow';
import * as z from 'zod';
import { DEVICES, type Device, type OrchardError, querySchema, toOrchardError, validate } from '../contract/index.js';
import { findModel } from '../models/index.js';
import { trainingLanguage } from '../training/index.js';
import { type EmbedOptions, embedSchema, SentenceEncoder } from './embed.js';

/** Options of {@link search}. */
export interface SearchOptions extends EmbedOptions {
  /** An English name, or a code such as `en-GB`. English words are compared by their stems. Default `english`. */
  readonly language?: string | undefined;
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
  /** The probability that it answers the question, 0 to 1. If all are below one half, perhaps no passage answers it. */
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
 * from a backbone or any model). Reads a few hundred sentences per second.
 * Fails with a ValidationError that names the passage, a NotFoundError for `model`, a ModelFolderError or an AbortedError.
 */
export function search(
  passages: Iterable<string>,
  options: SearchOptions = {},
): ResultAsync<SearchIndex, OrchardError> {
  const work = async () => {
    const { model, language, modelLoader, device, signal } = validate(searchSchema, options ?? {});
    const given = typeof passages === 'string' ? passages : [...passages];
    const texts = validate(passagesSchema, given, ['passages']);
    const languageName = trainingLanguage(language === undefined ? {} : { language });
    const name = model ?? `${languageName}-mini`;
    const placed = await findModel(name, { modelLoader, backbones: true, signal });
    const encoder = await SentenceEncoder.ofModel(placed, { service: { device }, signal });
    const { createIndex } = await indexing();
    return createIndex(texts, encoder, { stem: languageName === 'english', signal });
  };
  return ResultAsync.fromPromise(work(), (thrown) => toOrchardError(thrown, 'indexing passages'));
}

/** Opens a saved index. Fails with a ModelFolderError if the folder holds no index, or with an AbortedError. */
export function openSearch(folder: string, options: OpenSearchOptions = {}): ResultAsync<SearchIndex, OrchardError> {
  const work = async () => {
    const directory = resolve(validate(z.string().min(1, 'the path is empty'), folder, ['folder']));
    const { device, signal } = validate(openSchema, options ?? {});
    const { openIndex } = await indexing();
    return openIndex(directory, { service: { device }, signal });
  };
  return ResultAsync.fromPromise(work(), (thrown) => toOrchardError(thrown, `opening ${folder}`));
}

/** Loaded on first use: most programs don't search. */
const indexing = () => import('./search-index.js');
