/** `search` and `openSearch`: passages found by their words and their meaning, without training. */
import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { errAsync, ResultAsync } from 'neverthrow';
import * as z from 'zod';
import { querySchema, validate } from '../contract/index.js';
import { DEVICES, type Device } from '../device-names.js';
import { ClosedError, ModelFolderError, type OrchardError, toOrchardError } from '../errors.js';
import { encodePassages, PASSAGES_FILE, POSTINGS_FILE, VECTORS_FILE } from '../families/index.js';
import { Bm25Index } from '../lexical/index.js';
import { withPauses } from '../pauses.js';
import { decodeSafetensors, encodeSafetensors } from '../safetensors/index.js';
import { trainingLanguage } from '../training/index.js';
import { VectorIndex } from '../vector-index/index.js';
import { placeOf } from './base-model.js';
import { type EmbedOptions, embedSchema, SentenceEncoder } from './embed.js';
import { copyInto, writeFolder } from './model-output.js';
import { bestSentences, PassageSentences, PassageWords, rankPassages } from './relevance.js';

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

const searchSchema = embedSchema.extend({
  model: z.string().min(1, 'the name is empty').optional(),
  language: z.string().min(1).max(40).optional(),
});
const openSchema = z.strictObject({
  device: z.enum(DEVICES).default('cpu'),
  signal: z.instanceof(AbortSignal).optional(),
});
const passagesSchema = z
  .array(querySchema.min(1, 'the passage is empty'))
  .min(1, 'give at least one passage');
const callSchema = z.strictObject({
  k: z.int().min(1).max(1000).default(10),
  minScore: z.number().min(0).max(1).default(0),
  signal: z.instanceof(AbortSignal).optional(),
});

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
    const placed = await placeOf(name, { modelLoader, backbones: true, signal });
    const encoder = await SentenceEncoder.ofModel(placed, { service: { device }, signal });
    return indexWith(encoder, async () => {
      const sentences = await withPauses(PassageSentences.dividing(texts), signal);
      const stem = languageName === 'english';
      const words = await withPauses(PassageWords.indexing(texts, sentences, stem), signal);
      const vectors = VectorIndex.fromRows(await encoder.vectors(sentences.texts, signal));
      return { passages: texts, words, vectors };
    });
  };
  return ResultAsync.fromPromise(work(), (thrown) => toOrchardError(thrown, 'indexing passages'));
}

/** Opens a saved index. Fails with a ModelFolderError if the folder holds no index, or with an AbortedError. */
export function openSearch(
  folder: string,
  options: OpenSearchOptions = {},
): ResultAsync<SearchIndex, OrchardError> {
  const work = async () => {
    const directory = resolve(validate(z.string().min(1, 'the path is empty'), folder, ['folder']));
    const { device, signal } = validate(openSchema, options ?? {});
    const content = await readIndexFolder(directory);
    const encoderFolder = join(directory, ENCODER_FOLDER);
    const encoder = await SentenceEncoder.ofFolder(encoderFolder, { service: { device }, signal });
    return indexWith(encoder, async () => content);
  };
  return ResultAsync.fromPromise(work(), (thrown) => toOrchardError(thrown, `opening ${folder}`));
}

/** An index that owns an encoder. The encoder is closed if `content` fails. */
async function indexWith(
  encoder: SentenceEncoder,
  content: () => Promise<IndexContent>,
): Promise<SearchIndex> {
  try {
    return new OpenSearchIndex(await content(), encoder);
  } catch (thrown) {
    await encoder.close();
    throw thrown;
  }
}

interface IndexContent {
  readonly passages: readonly string[];
  readonly words: PassageWords;
  /** The vectors of all sentences. */
  readonly vectors: VectorIndex;
}

class OpenSearchIndex implements SearchIndex {
  readonly #content: IndexContent;
  readonly #encoder: SentenceEncoder;
  #closing: Promise<void> | undefined;

  constructor(content: IndexContent, encoder: SentenceEncoder) {
    this.#content = content;
    this.#encoder = encoder;
  }

  get size(): number {
    return this.#content.passages.length;
  }

  get model(): string {
    return this.#encoder.name;
  }

  search(query: string, options: SearchCallOptions = {}): ResultAsync<readonly FoundPassage[], OrchardError> {
    return this.#call('searching passages', async () => {
      const text = validate(querySchema, query, ['query']);
      const { k, minScore, signal } = validate(callSchema, options);
      const { passages, words, vectors } = this.#content;
      const [vector] = await this.#encoder.vectors([text], signal);
      const ofSentences = vectors.scores(vector ?? new Float32Array(vectors.width));
      const cosines = bestSentences(ofSentences, words.starts);
      const ranked = rankPassages({ ...words.sharedWith(text), cosines }, k);
      return ranked
        .filter(({ score }) => score >= minScore)
        .map(({ id, score }) => ({ passage: passages[id] ?? '', index: id, score }));
    });
  }

  save(folder: string): ResultAsync<void, OrchardError> {
    return this.#call(`saving an index to ${folder}`, () =>
      writeFolder(folder, SEARCH_FOLDER, async (made) => {
        await copyInto(this.#encoder.directory, join(made, ENCODER_FOLDER));
        await writeIndexFolder(made, this.#content, this.model);
      }),
    );
  }

  close(): Promise<void> {
    this.#closing ??= this.#encoder.close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #call<T>(doing: string, work: () => Promise<T>): ResultAsync<T, OrchardError> {
    if (this.#closing) return errAsync(new ClosedError('index'));
    return ResultAsync.fromPromise(work(), (thrown) => toOrchardError(thrown, doing));
  }
}

/** How the folder of an index is recognized. */
const SEARCH_FOLDER = { marker: 'search.json', noun: 'search.json of an index' };
const ENCODER_FOLDER = 'encoder';
/** BM25 postings of all sentences. */
const SENTENCES_FILE = 'sentences.safetensors';
/** Where the sentences of each passage start. */
const STARTS_FILE = 'sentence-starts.safetensors';
const FORMAT = 3;
const settingsSchema = z.strictObject({ format: z.literal(FORMAT), passages: z.int(), model: z.string() });

async function writeIndexFolder(
  folder: string,
  { passages, words, vectors }: IndexContent,
  model: string,
): Promise<void> {
  const settings = { format: FORMAT, passages: passages.length, model };
  await writeFile(join(folder, PASSAGES_FILE), encodePassages(passages));
  await writeFile(join(folder, VECTORS_FILE), vectors.encode());
  await writeFile(join(folder, POSTINGS_FILE), words.passages.encode());
  await writeFile(join(folder, SENTENCES_FILE), words.sentences.encode());
  await writeFile(join(folder, STARTS_FILE), encodeStarts(words.starts));
  await writeFile(join(folder, SEARCH_FOLDER.marker), `${JSON.stringify(settings, undefined, 2)}\n`);
}

/** @throws ModelFolderError */
async function readIndexFolder(folder: string): Promise<IndexContent> {
  const read = async <Value>(name: string, decode: (bytes: Buffer, file: string) => Value) => {
    const file = join(folder, name);
    const bytes = await readFile(file).catch((cause: unknown) => {
      throw new ModelFolderError(file, "it can't be read; give a folder that save() wrote", { cause });
    });
    return decode(bytes, file);
  };
  const settings = await read(SEARCH_FOLDER.marker, jsonDecoder(settingsSchema));
  const passages = await read(PASSAGES_FILE, jsonDecoder(z.array(z.string())));
  const vectors = await read(VECTORS_FILE, VectorIndex.decode);
  const postings = await read(POSTINGS_FILE, Bm25Index.decode);
  const sentences = await read(SENTENCES_FILE, Bm25Index.decode);
  const starts = await read(STARTS_FILE, (bytes, file) => decodeStarts(bytes, sentences.size, file));
  const requireSize = (name: string, size: number, expected: number, counted: string) => {
    if (size === expected) return;
    const reason = `it has ${size} ${counted} says ${expected}; save the index again`;
    throw new ModelFolderError(join(folder, name), reason);
  };
  const ofPassages = `passages, but ${SEARCH_FOLDER.marker}`;
  requireSize(PASSAGES_FILE, passages.length, settings.passages, ofPassages);
  requireSize(POSTINGS_FILE, postings.size, settings.passages, ofPassages);
  requireSize(STARTS_FILE, starts.length - 1, settings.passages, ofPassages);
  requireSize(VECTORS_FILE, vectors.size, sentences.size, `sentences, but ${SENTENCES_FILE}`);
  return { passages, vectors, words: new PassageWords({ passages: postings, sentences, starts }) };
}

function jsonDecoder<Value>(schema: z.ZodType<Value>) {
  return (bytes: Buffer, file: string): Value => {
    try {
      const parsed = schema.safeParse(JSON.parse(bytes.toString('utf8')));
      if (parsed.success) return parsed.data;
    } catch (cause) {
      throw new ModelFolderError(file, 'it is not JSON', { cause });
    }
    throw new ModelFolderError(file, 'it belongs to a later version, or is not part of an index');
  };
}

/** @param starts [passages + 1] */
export function encodeStarts(starts: Int32Array): Uint8Array {
  return encodeSafetensors(new Map([['starts', { shape: [starts.length], values: starts }]]));
}

/** @param sentences number of sentences. @throws ModelFolderError */
export function decodeStarts(bytes: Uint8Array, sentences: number, file: string): Int32Array {
  const starts = decodeSafetensors(bytes, file).integers.get('starts')?.values;
  const isInOrder = (start: number, at: number) => start >= (starts?.[at - 1] ?? 0);
  if (starts instanceof Int32Array && starts.every(isInOrder) && starts.at(-1) === sentences) return starts;
  throw new ModelFolderError(file, `its starts don't divide ${sentences} sentences; save the index again`);
}
