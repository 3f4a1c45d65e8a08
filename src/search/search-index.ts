import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errAsync, ResultAsync } from 'neverthrow';
import * as z from 'zod';
import {
  ClosedError,
  ModelFolderError,
  type OrchardError,
  querySchema,
  toOrchardError,
  validate,
} from '../contract/index.js';
import {
  encodePassages,
  PASSAGES_FILE,
  POSTINGS_FILE,
  unitVector,
  VECTORS_FILE,
  VectorIndex,
} from '../families/index.js';
import { Bm25Index } from '../lexical/index.js';
import { copyInto, decodeSafetensors, encodeSafetensors, type SentenceConfig, writeFolder } from '../models/index.js';
import { contentHash, filesIn, withPauses } from '../system/index.js';
import { type EncoderOptions, SentenceEncoder } from './embed.js';
import { bestSentences, PassageSentences, PassageWords, rankPassages } from './relevance.js';
import type { FoundPassage, SearchCallOptions, SearchIndex } from './search.js';

const callSchema = z.strictObject({
  k: z.int().min(1).max(1000).default(10),
  minScore: z.number().min(0).max(1).default(0),
  signal: z.instanceof(AbortSignal).optional(),
});

/** Indexes passages. Closes the encoder on failure. @throws AbortedError, and any error of the encoder */
export async function createIndex(
  passages: readonly string[],
  encoder: SentenceEncoder,
  { stem, signal }: { readonly stem: boolean; readonly signal: AbortSignal | undefined },
): Promise<SearchIndex> {
  try {
    const sentences = await withPauses(PassageSentences.dividing(passages), signal);
    const words = await withPauses(PassageWords.indexing(passages, sentences, stem), signal);
    const { stored } = similarityOf(encoder);
    const found = await encoder.vectors(sentences.texts, { prompt: 'document', signal });
    const vectors = VectorIndex.fromRows(found.map(stored));
    return new OpenSearchIndex({ passages, words, vectors }, encoder);
  } catch (thrown) {
    await encoder.close();
    throw thrown;
  }
}

/** Opens the index in a folder. @throws ModelFolderError, AbortedError */
export async function openIndex(folder: string, options: EncoderOptions): Promise<SearchIndex> {
  const content = await readIndexFolder(folder);
  return new OpenSearchIndex(content, await SentenceEncoder.ofFolder(join(folder, ENCODER_FOLDER), options));
}

interface IndexContent {
  readonly passages: readonly string[];
  readonly words: PassageWords;
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
      const [vector = new Float32Array()] = await this.#encoder.vectors([text], { prompt: 'query', signal });
      const { asked, score } = similarityOf(this.#encoder);
      const ofSentences = vectors.scores(asked(vector)).map((product) => score(product, vector));
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

/** How vectors are compared by dot products, which an index computes. */
interface Similarity {
  stored(vector: Float32Array): Float32Array;
  asked(vector: Float32Array): Float32Array;
  /** @param product of both. */
  score(product: number, asked: Float32Array): number;
}

const plain = (vector: Float32Array): Float32Array => vector;
const squares = (vector: Float32Array): number => vector.reduce((sum, value) => sum + value ** 2, 0);

const similarities: Readonly<Record<Exclude<SentenceConfig['similarity'], 'manhattan'>, Similarity>> = {
  cosine: { stored: unitVector, asked: unitVector, score: (product) => product },
  dot: { stored: plain, asked: plain, score: (product) => product },
  // −‖q − v‖, from [2q, −1]·[v, ‖v‖²] = ‖q‖² − ‖q − v‖².
  euclidean: {
    stored: (vector) => Float32Array.of(...vector, squares(vector)),
    asked: (vector) => Float32Array.of(...vector.map((value) => 2 * value), -1),
    score: (product, asked) => -Math.sqrt(Math.max(0, squares(asked) - product)),
  },
};

/** @throws ModelFolderError for a similarity that search doesn't compute */
export function similarityOf({ name, settings }: Pick<SentenceEncoder, 'name' | 'settings'>): Similarity {
  const { similarity } = settings;
  if (similarity !== 'manhattan') return similarities[similarity];
  const reason = `similarity_fn_name: search can't compare vectors by manhattan; use ${Object.keys(similarities).join(', ')}`;
  throw new ModelFolderError(name, reason);
}

const SEARCH_FOLDER = { marker: 'search.json', noun: 'search.json of an index' };
const ENCODER_FOLDER = 'encoder';
const SENTENCES_FILE = 'sentences.safetensors';
const STARTS_FILE = 'sentence-starts.safetensors';
const FORMAT = 4;
const settingsSchema = z.strictObject({
  format: z.literal(FORMAT),
  passages: z.int(),
  model: z.string(),
  /** The content of the encoder that gave the vectors. */
  encoder: z.string(),
});

const encoderHash = async (folder: string) => contentHash(await filesIn(join(folder, ENCODER_FOLDER)));

async function writeIndexFolder(
  folder: string,
  { passages, words, vectors }: IndexContent,
  model: string,
): Promise<void> {
  const settings = { format: FORMAT, passages: passages.length, model, encoder: await encoderHash(folder) };
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
  await requireEncoder(folder, settings.encoder);
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

/** @throws ModelFolderError if another encoder than that of the index would read the questions */
async function requireEncoder(folder: string, hash: string): Promise<void> {
  const file = join(folder, ENCODER_FOLDER);
  const found = await encoderHash(folder).catch((cause: unknown) => {
    throw new ModelFolderError(file, "it can't be read; give a folder that save() wrote", { cause });
  });
  if (found === hash) return;
  throw new ModelFolderError(
    file,
    'it is not the encoder that gave the vectors of the index; index the passages again',
  );
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
