import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errAsync, type ResultAsync } from 'neverthrow';
import * as z from 'zod';
import {
  AbortedError,
  ClosedError,
  callResult,
  ModelFolderError,
  type OrchardError,
  querySchema,
  requireOptions,
  signalOptionsSchema,
  signalSchema,
  ValidationError,
  validate,
} from '../contract/index.js';
import {
  encodePassages,
  encodeVectors,
  PASSAGES_FILE,
  POSTINGS_FILE,
  VECTORS_FILE,
  VectorIndex,
} from '../families/index.js';
import { untilAborted } from '../inference/index.js';
import { Bm25Index, encodeBm25 } from '../lexical/index.js';
import { copyInto, decodeSafetensors, encodeSafetensors, writeFolder } from '../models/index.js';
import {
  absolutePath,
  contentHash,
  filesIn,
  isPauseDue,
  listAsOfNow,
  mapWithPauses,
  pause,
  validateWithPauses,
  withPauses,
} from '../system/index.js';
import { type EncoderOptions, SentenceEncoder } from './embed.js';
import {
  isWanted,
  numbered,
  PassageCollection,
  type Similarity,
  type StoredPassage,
  similarityOf,
} from './passage-collection.js';
import { rankPassages } from './relevance.js';
import { CrossEncoder, rerankDepthSchema } from './score-pairs.js';
import type {
  ChangeOptions,
  FoundPassage,
  IndexProgress,
  Passage,
  SearchCallOptions,
  SearchIndex,
  SearchOptions,
} from './search.js';

const giveFunction = 'give a function';
const callSchema = z.strictObject({
  k: z.int().min(1).max(1000).default(10),
  minScore: z.number().min(0).max(1).default(0),
  where: z.custom((given) => typeof given === 'function', giveFunction).optional(),
  rerank: z.union([z.literal(false), rerankDepthSchema]).optional(),
  signal: signalSchema.optional(),
});

const MAX_ID_CHARACTERS = 512;
const idSchema = z.string().min(1, 'the id is empty').max(MAX_ID_CHARACTERS);
const textSchema = querySchema.min(1, 'the passage is empty');
const passageSchema = z.strictObject({ id: idSchema.optional(), text: textSchema, data: z.unknown().optional() });
const asPassage = (given: unknown) => (typeof given === 'string' ? { text: given } : given);
const givenSchema = z.array(z.pipe(z.transform(asPassage), passageSchema));

/** A string is iterable too, but no list. */
function isIterableObject(given: unknown): boolean {
  return typeof given === 'object' && given !== null && Symbol.iterator in given;
}

/** Checked. @throws ValidationError that names the passage */
export async function passagesOf<Data>(given: Iterable<string | Passage<Data>>): Promise<readonly Passage<Data>[]> {
  const list = isIterableObject(given) ? [...given] : given;
  await validateWithPauses(givenSchema, list, ['passages']);
  return mapWithPauses(list, (each) => (typeof each === 'string' ? { text: each } : each));
}

/** The encoder of the vectors, and what orders the passages that were found anew. */
interface Encoders {
  readonly encoder: SentenceEncoder;
  readonly reranker: { readonly encoder: CrossEncoder; readonly depth: number } | undefined;
}

type OnProgress = SearchOptions['onProgress'];

interface IndexingOptions {
  readonly stem: boolean;
  readonly background: boolean;
  readonly onProgress?: OnProgress;
  readonly signal: AbortSignal | undefined;
}

/** Indexes passages. @throws ValidationError, AbortedError, and any error of the encoder */
export async function createIndex<Data>(
  given: readonly Passage<Data>[],
  encoders: Encoders,
  { stem, background, onProgress, signal }: IndexingOptions,
): Promise<SearchIndex<Data>> {
  similarityOf(encoders.encoder);
  if (given.length === 0) {
    throw new ValidationError([{ loc: ['passages'], msg: 'give at least one passage', type: 'too_small' }]);
  }
  const passages = numbered(given, 0, () => false);
  const collection = await withPauses(PassageCollection.indexing(passages, stem), signal);
  const index = new OpenSearchIndex(collection, encoders, { background, onProgress, added: passages.length });
  if (background) index.fillBehind();
  else await index.filled(signal);
  return index;
}

/** Opens the index in a folder. @throws ModelFolderError, AbortedError */
export async function openIndex(folder: string, options: EncoderOptions): Promise<SearchIndex> {
  const settings = await readSettings(folder);
  const { added, rerank_depth: depth } = settings;
  const reranking = depth === undefined ? undefined : CrossEncoder.ofFolder(join(folder, RERANKER_FOLDER), options);
  const [collection, encoder, reranker] = await Promise.allSettled([
    readCollection(folder, settings),
    SentenceEncoder.ofFolder(join(folder, ENCODER_FOLDER), options),
    reranking,
  ]);
  const failed = [collection, encoder, reranker].find((each) => each.status === 'rejected');
  if (collection.status === 'fulfilled' && encoder.status === 'fulfilled' && reranker.status === 'fulfilled') {
    const second = reranker.value && { encoder: reranker.value, depth: depth ?? 0 };
    const parts = { encoder: encoder.value, reranker: second };
    return new OpenSearchIndex(collection.value, parts, { background: false, added });
  }
  for (const each of [encoder, reranker]) if (each.status === 'fulfilled') await each.value?.close();
  throw failed?.reason;
}

/** Texts of passages take turns with questions. */
const PASSAGES_ACCOUNT = 'passages';
/** Sentences that the encoder gets at a time. */
const SENTENCES_AT_A_TIME = 512;

interface State {
  readonly background: boolean;
  readonly onProgress?: OnProgress;
  /** Passages that were ever added, which give ids to those without. */
  readonly added: number;
}

class OpenSearchIndex<Data> implements SearchIndex<Data> {
  readonly #collection: PassageCollection<Data>;
  readonly #encoders: Encoders;
  readonly #similarity: Similarity;
  readonly #background: boolean;
  readonly #onProgress: OnProgress;
  #added: number;
  #filling: Promise<void> | undefined;
  /** The change in progress, or the last one. */
  #lastChange: Promise<unknown> = Promise.resolve();
  readonly #closed = new AbortController();
  #closing: Promise<void> | undefined;

  constructor(collection: PassageCollection<Data>, encoders: Encoders, { background, onProgress, added }: State) {
    this.#collection = collection;
    this.#encoders = encoders;
    this.#similarity = similarityOf(encoders.encoder);
    this.#background = background;
    this.#onProgress = onProgress;
    this.#added = added;
  }

  get size(): number {
    return this.#collection.size;
  }

  get model(): string {
    return this.#encoders.encoder.name;
  }

  get progress(): IndexProgress {
    const { sentences, waiting } = this.#collection;
    return { done: sentences - waiting, total: sentences };
  }

  search(
    query: string,
    options: SearchCallOptions<Data> = {},
  ): ResultAsync<readonly FoundPassage<Data>[], OrchardError> {
    return this.#call('searching passages', async () => {
      const text = validate(querySchema, query, ['query']);
      const { k, minScore, rerank, signal } = validate(callSchema, requireOptions(options, '`{ k }`'));
      const { reranker } = this.#encoders;
      if (typeof rerank === 'number' && reranker === undefined) throw noCrossEncoder();
      if (reranker === undefined || rerank === false) {
        const found = await this.#ranked(text, k, options.where, signal);
        return found.filter(({ score }) => score >= minScore);
      }
      const found = await this.#ranked(text, Math.max(k, rerank ?? reranker.depth), options.where, signal);
      return reranker.encoder.ordered(text, found, { k, minScore, signal });
    });
  }

  /** By words and by meaning. */
  async #ranked(
    text: string,
    k: number,
    where: SearchCallOptions<Data>['where'],
    signal: AbortSignal | undefined,
  ): Promise<FoundPassage<Data>[]> {
    const { asked, score, dividesByNorm } = this.#similarity;
    const { encoder } = this.#encoders;
    const hasVectors = this.progress.done > 0;
    const [vector] = hasVectors ? await encoder.vectors([text], { prompt: 'query', signal }) : [];
    const comparison = { dividesByNorm, score: (product: number) => (vector ? score(product, vector) : 0) };
    const { passages, evidence } = this.#collection.evidence(text, vector && asked(vector), comparison);
    const among = where && passages.flatMap((passage, at) => (isWanted(passage, where) ? at : []));
    return rankPassages(evidence, k, among).flatMap(({ id: index, score }) => {
      const found = passages[index];
      if (found === undefined) return [];
      const { text: passage, ...stored } = found;
      return { ...stored, passage, index, score };
    });
  }

  add(passages: Iterable<string | Passage<Data>>, options: ChangeOptions = {}): ResultAsync<void, OrchardError> {
    const list = listAsOfNow(passages);
    return this.#change('adding passages', async () => {
      const { signal } = validate(signalOptionsSchema, requireOptions(options, '`{ signal }`'));
      const given = await passagesOf(list);
      await this.#put(
        numbered(given, this.#added, (id) => this.#collection.has(id)),
        [],
        signal,
      );
    });
  }

  update(
    passages: Iterable<Passage<Data> & { readonly id: string }>,
    options: ChangeOptions = {},
  ): ResultAsync<void, OrchardError> {
    const list = listAsOfNow(passages);
    return this.#change('updating passages', async () => {
      const { signal } = validate(signalOptionsSchema, requireOptions(options, '`{ signal }`'));
      const given = numbered(await passagesOf(list), 0, () => false);
      const earlier = given.map(({ id }, at) => {
        const passage = this.#collection.get(id);
        if (passage !== undefined) return passage;
        const msg = `no passage has the id ${JSON.stringify(id)}; add it with add()`;
        throw new ValidationError([{ loc: ['passages', at, 'id'], msg, type: 'unknown_id' }]);
      });
      await this.#put(given, earlier, signal);
    });
  }

  delete(ids: Iterable<string>): ResultAsync<number, OrchardError> {
    const list = listAsOfNow(ids);
    return this.#change('deleting passages', async () => {
      const given = validate(z.array(idSchema), isIterableObject(list) ? [...list] : list, ['ids']);
      let deleted = 0;
      for (const id of given) if (await this.#remove(id)) deleted += 1;
      if (this.#collection.isSparse) await this.#compact();
      return deleted;
    });
  }

  complete(): ResultAsync<void, OrchardError> {
    return this.#call('computing the vectors of passages', () => this.filled(undefined));
  }

  save(folder: string): ResultAsync<void, OrchardError> {
    const target = typeof folder === 'string' ? absolutePath(folder) : folder;
    return this.#change(`saving an index to ${folder}`, async () => {
      await this.#compact();
      await writeFolder(target, SEARCH_FOLDER, async (made) => {
        const { encoder, reranker } = this.#encoders;
        await copyInto(encoder.directory, join(made, ENCODER_FOLDER));
        if (reranker) await copyInto(reranker.encoder.directory, join(made, RERANKER_FOLDER));
        await writeIndexFolder(made, this.#collection, this.#added, this.#encoders);
      });
    });
  }

  close(): Promise<void> {
    const { encoder, reranker } = this.#encoders;
    this.#closed.abort();
    this.#closing ??= Promise.all([encoder.close(), reranker?.encoder.close()]).then(() => undefined);
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Adds passages in the place of others. All is as before unless their vectors are computed. */
  async #put(
    passages: readonly StoredPassage<Data>[],
    replaced: readonly StoredPassage<Data>[],
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const put = async (old: readonly StoredPassage<Data>[], added: readonly StoredPassage<Data>[]) => {
      for (const { id } of old) await this.#remove(id);
      for (const passage of added) {
        if (isPauseDue()) await pause();
        this.#collection.add(passage);
      }
    };
    if (signal?.aborted) throw new AbortedError('changing an index', { cause: signal.reason });
    await put(replaced, passages);
    this.#added += passages.length - replaced.length;
    try {
      if (this.#background) this.fillBehind();
      else await this.filled(signal);
    } catch (thrown) {
      await put(passages, replaced);
      throw thrown;
    }
    if (this.#collection.isSparse) await this.#compact();
  }

  async #remove(id: string): Promise<boolean> {
    if (isPauseDue()) await pause();
    return this.#collection.delete(id);
  }

  async #compact(): Promise<void> {
    await this.filled(undefined);
    await withPauses(this.#collection.compacting());
  }

  /** Computes vectors; an error is for {@link complete}, which tries again. */
  fillBehind(): void {
    this.filled(undefined).catch(() => undefined);
  }

  /** Resolves once each sentence has a vector. @throws any error of the encoder, AbortedError */
  async filled(signal: AbortSignal | undefined): Promise<void> {
    const filling = () => {
      this.#filling ??= this.#fill().finally(() => {
        this.#filling = undefined;
      });
      return this.#filling;
    };
    while (this.#collection.waiting > 0) {
      await (signal ? untilAborted('computing the vectors of passages', signal, filling) : filling());
    }
  }

  /** Some of the vectors that are missing. */
  async #fill(): Promise<void> {
    const { encoder } = this.#encoders;
    const sentences = this.#collection.firstWaiting(SENTENCES_AT_A_TIME);
    const vectors = await encoder.vectors(sentences, { prompt: 'document', account: PASSAGES_ACCOUNT });
    this.#collection.addVectors(vectors.map(this.#similarity.stored));
    this.#onProgress?.(this.progress);
  }

  /** Changes are made one after another. */
  #change<T>(doing: string, work: () => Promise<T>): ResultAsync<T, OrchardError> {
    return this.#call(doing, () => {
      const change = this.#lastChange.then(work);
      this.#lastChange = change.catch(() => undefined);
      return change;
    });
  }

  #call<T>(doing: string, work: () => Promise<T>): ResultAsync<T, OrchardError> {
    if (this.#closing) return errAsync(new ClosedError('index'));
    return callResult(work(), doing);
  }
}

function noCrossEncoder(): ValidationError {
  const msg =
    'this index has no cross-encoder; index the passages again with `rerank` (or pass `passages` to the function `rerank`)';
  return new ValidationError([{ loc: ['rerank'], msg, type: 'no_cross_encoder' }]);
}

const SEARCH_FOLDER = { marker: 'search.json', noun: 'search.json of an index' };
const ENCODER_FOLDER = 'encoder';
const RERANKER_FOLDER = 'reranker';
const STARTS_FILE = 'sentence-starts.safetensors';
/** Of each passage, its id and, if it has any, its data. */
const DATA_FILE = 'passage-data.json';
const FORMAT = 5;
const settingsSchema = z.strictObject({
  format: z.literal(FORMAT),
  passages: z.int(),
  /** How many passages were ever added, which gives the next one its id. */
  added: z.int(),
  model: z.string(),
  /** The content of the encoder that gave the vectors. */
  encoder: z.string(),
  /** Absent: no cross-encoder. */
  rerank_depth: z.int().min(1).optional(),
});
type Settings = z.infer<typeof settingsSchema>;
const dataSchema = z.array(z.strictObject({ id: idSchema, data: z.unknown().optional() }));

const encoderHash = async (folder: string) => contentHash(await filesIn(join(folder, ENCODER_FOLDER)));

/** @throws ValidationError for data that JSON can't hold */
async function writeIndexFolder(
  folder: string,
  collection: PassageCollection<unknown>,
  added: number,
  { encoder, reranker }: Encoders,
): Promise<void> {
  const { passages } = collection;
  const { words, starts, vectors } = collection.parts;
  const settings = {
    ...{ format: FORMAT, passages: passages.length, added, model: encoder.name, encoder: await encoderHash(folder) },
    ...(reranker && { rerank_depth: reranker.depth }),
  };
  const data = await mapWithPauses(passages, dataAsJson);
  await writeFile(join(folder, DATA_FILE), `[${data.join(',\n')}]\n`);
  await writeFile(join(folder, PASSAGES_FILE), encodePassages(passages.map(({ text }) => text)));
  await writeFile(join(folder, VECTORS_FILE), encodeVectors(vectors ?? VectorIndex.empty(1)));
  await writeFile(join(folder, POSTINGS_FILE), encodeBm25(words));
  await writeFile(join(folder, STARTS_FILE), encodeStarts(starts));
  await writeFile(join(folder, SEARCH_FOLDER.marker), `${JSON.stringify(settings, undefined, 2)}\n`);
}

/** @throws ValidationError */
function dataAsJson({ id, data }: StoredPassage<unknown>): string {
  const refused = () => {
    const msg = `JSON can't hold the data of the passage ${JSON.stringify(id)}; give text, numbers, true, false, null, lists or objects`;
    return new ValidationError([{ loc: ['passages', id, 'data'], msg, type: 'json' }]);
  };
  if (typeof data === 'function' || typeof data === 'symbol') throw refused();
  try {
    return JSON.stringify({ id, data });
  } catch {
    throw refused();
  }
}

/** @throws ModelFolderError */
async function readPart<Value>(
  folder: string,
  name: string,
  decode: (bytes: Buffer, file: string) => Value,
): Promise<Value> {
  const file = join(folder, name);
  const bytes = await readFile(file).catch((cause: unknown) => {
    throw new ModelFolderError(file, "it can't be read; give the folder of a saved index", { cause });
  });
  return decode(bytes, file);
}

const readSettings = (folder: string) => readPart(folder, SEARCH_FOLDER.marker, jsonDecoder(settingsSchema));

/** @throws ModelFolderError */
async function readCollection(folder: string, settings: Settings): Promise<PassageCollection<unknown>> {
  await requireEncoder(folder, settings.encoder);
  const texts = await readPart(folder, PASSAGES_FILE, jsonDecoder(z.array(z.string())));
  const data = await readPart(folder, DATA_FILE, jsonDecoder(dataSchema));
  const vectors = await readPart(folder, VECTORS_FILE, VectorIndex.decode);
  const words = await readPart(folder, POSTINGS_FILE, Bm25Index.decode);
  const starts = await readPart(folder, STARTS_FILE, (bytes, file) => decodeStarts(bytes, vectors.size, file));
  const requireSize = (name: string, size: number) => {
    if (size === settings.passages) return;
    const reason = `it has ${size} passages, but ${SEARCH_FOLDER.marker} says ${settings.passages}; save the index again`;
    throw new ModelFolderError(join(folder, name), reason);
  };
  requireSize(PASSAGES_FILE, texts.length);
  requireSize(DATA_FILE, data.length);
  requireSize(POSTINGS_FILE, words.size);
  requireSize(STARTS_FILE, starts.length - 1);
  const passages = data.map((each, at) => ({ ...each, text: texts[at] ?? '' }));
  const known = vectors.size > 0 ? vectors : undefined;
  return new PassageCollection({ passages, words, starts, vectors: known, waiting: [] });
}

/** @throws ModelFolderError if another encoder than that of the index would read the questions */
async function requireEncoder(folder: string, hash: string): Promise<void> {
  const file = join(folder, ENCODER_FOLDER);
  const found = await encoderHash(folder).catch((cause: unknown) => {
    throw new ModelFolderError(file, "it can't be read; give the folder of a saved index", { cause });
  });
  if (found === hash) return;
  throw new ModelFolderError(
    file,
    'it is not the encoder that computed the vectors of the index; index the passages again',
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
export function encodeStarts(starts: readonly number[]): Uint8Array {
  return encodeSafetensors(new Map([['starts', { shape: [starts.length], values: Int32Array.from(starts) }]]));
}

/** @param sentences number of sentences. @throws ModelFolderError */
export function decodeStarts(bytes: Uint8Array, sentences: number, file: string): readonly number[] {
  const starts = decodeSafetensors(bytes, file).integers.get('starts')?.values;
  const isInOrder = (start: number, at: number) => start >= (starts?.[at - 1] ?? 0);
  if (starts instanceof Int32Array && starts.every(isInOrder) && starts.at(-1) === sentences) return [...starts];
  throw new ModelFolderError(file, `its starts don't divide ${sentences} sentences; save the index again`);
}
