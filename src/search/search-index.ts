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
import { contentHash, filesIn, mapWithPauses, withPauses } from '../system/index.js';
import { type EncoderOptions, SentenceEncoder } from './embed.js';
import { bestSentences, PassageSentences, PassageWords, rankPassages } from './relevance.js';
import { CrossEncoder } from './score-pairs.js';
import type { FoundPassage, SearchCallOptions, SearchIndex } from './search.js';

const callSchema = z.strictObject({
  k: z.int().min(1).max(1000).default(10),
  minScore: z.number().min(0).max(1).default(0),
  signal: z.instanceof(AbortSignal).optional(),
});

/** The encoder of the vectors, and what orders the passages that were found anew. */
interface Encoders {
  readonly encoder: SentenceEncoder;
  readonly reranker: { readonly encoder: CrossEncoder; readonly depth: number } | undefined;
}

/** Indexes passages. @throws AbortedError, and any error of the encoder */
export async function createIndex(
  passages: readonly string[],
  encoders: Encoders,
  { stem, signal }: { readonly stem: boolean; readonly signal: AbortSignal | undefined },
): Promise<SearchIndex> {
  const { encoder } = encoders;
  const { stored } = similarityOf(encoder);
  const sentences = await withPauses(PassageSentences.dividing(passages), signal);
  const words = await withPauses(PassageWords.indexing(passages, sentences, stem), signal);
  const found = await encoder.vectors(sentences.texts, { prompt: 'document', signal });
  const vectors = VectorIndex.fromRows(await mapWithPauses(found, stored, signal));
  return new OpenSearchIndex({ passages, words, vectors }, encoders);
}

/** Opens the index in a folder. @throws ModelFolderError, AbortedError */
export async function openIndex(folder: string, options: EncoderOptions): Promise<SearchIndex> {
  const { rerank_depth: depth, ...content } = await readIndexFolder(folder);
  const encoder = await SentenceEncoder.ofFolder(join(folder, ENCODER_FOLDER), options);
  try {
    const reranker =
      depth === undefined
        ? undefined
        : { encoder: await CrossEncoder.ofFolder(join(folder, RERANKER_FOLDER), options), depth };
    return new OpenSearchIndex(content, { encoder, reranker });
  } catch (thrown) {
    await encoder.close();
    throw thrown;
  }
}

interface IndexContent {
  readonly passages: readonly string[];
  readonly words: PassageWords;
  readonly vectors: VectorIndex;
}

class OpenSearchIndex implements SearchIndex {
  readonly #content: IndexContent;
  readonly #encoders: Encoders;
  #closing: Promise<void> | undefined;

  constructor(content: IndexContent, encoders: Encoders) {
    this.#content = content;
    this.#encoders = encoders;
  }

  get size(): number {
    return this.#content.passages.length;
  }

  get model(): string {
    return this.#encoders.encoder.name;
  }

  search(query: string, options: SearchCallOptions = {}): ResultAsync<readonly FoundPassage[], OrchardError> {
    return this.#call('searching passages', async () => {
      const text = validate(querySchema, query, ['query']);
      const { k, minScore, signal } = validate(callSchema, options);
      const { reranker } = this.#encoders;
      const found = await this.#ranked(text, reranker === undefined ? k : Math.max(k, reranker.depth), signal);
      const ranked = reranker === undefined ? found : await reranked(text, found, reranker.encoder, signal);
      return ranked.slice(0, k).filter(({ score }) => score >= minScore);
    });
  }

  /** By words and by meaning. */
  async #ranked(text: string, k: number, signal: AbortSignal | undefined): Promise<FoundPassage[]> {
    const { passages, words, vectors } = this.#content;
    const { encoder } = this.#encoders;
    const [vector = new Float32Array()] = await encoder.vectors([text], { prompt: 'query', signal });
    const { asked, score } = similarityOf(encoder);
    const ofSentences = vectors.scores(asked(vector)).map((product) => score(product, vector));
    const cosines = bestSentences(ofSentences, words.starts);
    const ranked = rankPassages({ ...words.sharedWith(text), cosines }, k);
    return ranked.map(({ id, score }) => ({ passage: passages[id] ?? '', index: id, score }));
  }

  save(folder: string): ResultAsync<void, OrchardError> {
    return this.#call(`saving an index to ${folder}`, () =>
      writeFolder(folder, SEARCH_FOLDER, async (made) => {
        const { encoder, reranker } = this.#encoders;
        await copyInto(encoder.directory, join(made, ENCODER_FOLDER));
        if (reranker) await copyInto(reranker.encoder.directory, join(made, RERANKER_FOLDER));
        await writeIndexFolder(made, this.#content, this.#encoders);
      }),
    );
  }

  close(): Promise<void> {
    const { encoder, reranker } = this.#encoders;
    this.#closing ??= Promise.all([encoder.close(), reranker?.encoder.close()]).then(() => undefined);
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

/** Passages by what a cross-encoder says of them; equally good ones stay in their order. */
async function reranked(
  question: string,
  found: readonly FoundPassage[],
  reranker: CrossEncoder,
  signal: AbortSignal | undefined,
): Promise<FoundPassage[]> {
  const passages = found.map(({ passage }) => passage);
  const scores = await reranker.probabilities(question, passages, signal);
  return found.map((each, at) => ({ ...each, score: scores[at] ?? 0 })).sort((a, b) => b.score - a.score);
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
const RERANKER_FOLDER = 'reranker';
const SENTENCES_FILE = 'sentences.safetensors';
const STARTS_FILE = 'sentence-starts.safetensors';
const FORMAT = 4;
const settingsSchema = z.strictObject({
  format: z.literal(FORMAT),
  passages: z.int(),
  model: z.string(),
  /** The content of the encoder that gave the vectors. */
  encoder: z.string(),
  /** Absent: no cross-encoder. */
  rerank_depth: z.int().min(1).optional(),
});
type Settings = z.infer<typeof settingsSchema>;

const encoderHash = async (folder: string) => contentHash(await filesIn(join(folder, ENCODER_FOLDER)));

async function writeIndexFolder(
  folder: string,
  { passages, words, vectors }: IndexContent,
  { encoder, reranker }: Encoders,
): Promise<void> {
  const settings = {
    ...{ format: FORMAT, passages: passages.length, model: encoder.name, encoder: await encoderHash(folder) },
    ...(reranker && { rerank_depth: reranker.depth }),
  };
  await writeFile(join(folder, PASSAGES_FILE), encodePassages(passages));
  await writeFile(join(folder, VECTORS_FILE), vectors.encode());
  await writeFile(join(folder, POSTINGS_FILE), words.passages.encode());
  await writeFile(join(folder, SENTENCES_FILE), words.sentences.encode());
  await writeFile(join(folder, STARTS_FILE), encodeStarts(words.starts));
  await writeFile(join(folder, SEARCH_FOLDER.marker), `${JSON.stringify(settings, undefined, 2)}\n`);
}

/** @throws ModelFolderError */
async function readIndexFolder(folder: string): Promise<IndexContent & Pick<Settings, 'rerank_depth'>> {
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
  const words = new PassageWords({ passages: postings, sentences, starts });
  return { passages, vectors, words, rerank_depth: settings.rerank_depth };
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
