import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errAsync, ResultAsync } from 'neverthrow';
import * as z from 'zod';
import { querySchema, validate } from '../../contract/index.js';
import { ClosedError, ModelFolderError, type OrchardError, toOrchardError } from '../../errors.js';
import { encodePassages, PASSAGES_FILE, POSTINGS_FILE, VECTORS_FILE } from '../../families/index.js';
import { Bm25Index } from '../../lexical/index.js';
import { withPauses } from '../../pauses.js';
import { VectorIndex } from '../../vector-index/index.js';
import { copyInto, writeFolder } from '../model-output.js';
import { PassageWords } from './passage-words.js';
import { rankPassages } from './relevance.js';
import type { SentenceEncoder } from './sentence-encoder.js';
import { decodeStarts, encodeStarts, SENTENCES_FILE, STARTS_FILE } from './sentence-files.js';
import { bestSentences, PassageSentences } from './sentences.js';

/** A passage that was found. */
export interface FoundPassage {
  readonly passage: string;
  /** Its position among the passages that were given. */
  readonly index: number;
  /** How likely it answers the question, 0 to 1; below one half, none of the passages may answer it. */
  readonly score: number;
}

/** How a question is asked. */
export interface SearchCallOptions {
  /** How many passages to find, 1 to 1,000. Default 10. */
  readonly k?: number | undefined;
  /**
   * Passages with a lower score are left out, 0 to 1: with 0.5, an empty answer says that none of the passages answers, as
   * far as can be told. Default 0.
   */
  readonly minScore?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** How a folder with an index is known. */
export const SEARCH_FOLDER = { marker: 'search.json', noun: 'search.json of an index' };
const ENCODER_FOLDER = 'encoder';
const FORMAT = 3;

const callSchema = z.strictObject({
  k: z.int().min(1).max(1000).default(10),
  minScore: z.number().min(0).max(1).default(0),
  signal: z.instanceof(AbortSignal).optional(),
});
const settingsSchema = z.strictObject({ format: z.literal(FORMAT), passages: z.int(), model: z.string() });
const passagesSchema = z.array(z.string());

/** What an index is made of. */
export interface IndexParts {
  readonly passages: readonly string[];
  readonly words: PassageWords;
  /** Of all sentences. */
  readonly vectors: VectorIndex;
  readonly encoder: SentenceEncoder;
}

/**
 * Passages that can be searched by words and by meaning, with no training: BM25, and the vectors of an encoder. Any number
 * of questions may be asked at once. All calls fail with a ClosedError after `close`.
 */
export interface SearchIndex extends AsyncDisposable {
  /** How many passages it has. */
  readonly size: number;
  /** What reads the texts. */
  readonly model: string;
  /**
   * The passages that fit a question best, best first; none where all score below `minScore`. Fails with a
   * ValidationError, an OverloadedError while too many wait, or an AbortedError.
   */
  search(query: string, options?: SearchCallOptions): ResultAsync<readonly FoundPassage[], OrchardError>;
  /**
   * Writes the index to a folder that `openSearch` opens and that needs nothing else. It must not exist, be empty, or
   * hold an index, which is replaced. Fails with a ValidationError or a StorageError.
   */
  save(folder: string): ResultAsync<void, OrchardError>;
  /** Frees everything. Idempotent. */
  close(): Promise<void>;
}

/** An index with an encoder that is open. */
export class OpenSearchIndex implements SearchIndex {
  readonly #parts: IndexParts;
  #closing: Promise<void> | undefined;

  constructor(parts: IndexParts) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#parts.passages.length;
  }

  get model(): string {
    return this.#parts.encoder.name;
  }

  search(query: string, options: SearchCallOptions = {}): ResultAsync<readonly FoundPassage[], OrchardError> {
    return this.#call('searching passages', async () => {
      const text = validate(querySchema, query, ['query']);
      const { k, minScore, signal } = validate(callSchema, options);
      const { passages, words, vectors, encoder } = this.#parts;
      const [vector] = await encoder.vectors([text], signal);
      const ofSentences = vectors.scores(vector ?? new Float32Array(vectors.width));
      const cosines = bestSentences(ofSentences, words.starts);
      const ranked = rankPassages({ ...words.sharedWith(text), cosines }, k);
      return ranked.flatMap(({ id, score }) =>
        score < minScore ? [] : { passage: passages[id] ?? '', index: id, score },
      );
    });
  }

  save(folder: string): ResultAsync<void, OrchardError> {
    return this.#call(`saving an index to ${folder}`, () =>
      writeFolder(folder, SEARCH_FOLDER, async (made) => {
        const { passages, words, vectors, encoder } = this.#parts;
        const settings = { format: FORMAT, passages: passages.length, model: encoder.name };
        await copyInto(encoder.directory, join(made, ENCODER_FOLDER));
        await writeFile(join(made, PASSAGES_FILE), encodePassages(passages));
        await writeFile(join(made, VECTORS_FILE), vectors.encode());
        await writeFile(join(made, POSTINGS_FILE), words.passages.encode());
        await writeFile(join(made, SENTENCES_FILE), words.sentences.encode());
        await writeFile(join(made, STARTS_FILE), encodeStarts(words.starts));
        await writeFile(join(made, SEARCH_FOLDER.marker), `${JSON.stringify(settings, undefined, 2)}\n`);
      }),
    );
  }

  close(): Promise<void> {
    this.#closing ??= this.#parts.encoder.close();
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

/** Reads all passages. @throws AbortedError, and what the encoder throws */
export async function indexParts(
  passages: readonly string[],
  encoder: SentenceEncoder,
  stem: boolean,
  signal: AbortSignal | undefined,
): Promise<IndexParts> {
  const sentences = await withPauses(PassageSentences.dividing(passages), signal);
  const words = await withPauses(PassageWords.indexing(passages, sentences, stem), signal);
  const vectors = VectorIndex.fromRows(await encoder.vectors(sentences.texts, signal));
  return { passages, words, vectors, encoder };
}

/** The files of an index, without its encoder. @throws ModelFolderError */
export async function readIndexFolder(folder: string): Promise<Omit<IndexParts, 'encoder'>> {
  const read = async (name: string) => {
    const file = join(folder, name);
    try {
      return { file, bytes: await readFile(file) };
    } catch (cause) {
      throw new ModelFolderError(file, "it can't be read; an index is a folder that save() wrote", { cause });
    }
  };
  const settings = shaped(settingsSchema, await read(SEARCH_FOLDER.marker));
  const passages = shaped(passagesSchema, await read(PASSAGES_FILE));
  const [ofVectors, ofPostings] = [await read(VECTORS_FILE), await read(POSTINGS_FILE)];
  const [ofSentences, ofStarts] = [await read(SENTENCES_FILE), await read(STARTS_FILE)];
  const vectors = VectorIndex.decode(ofVectors.bytes, ofVectors.file);
  const sentences = Bm25Index.decode(ofSentences.bytes, ofSentences.file);
  const words = new PassageWords({
    passages: Bm25Index.decode(ofPostings.bytes, ofPostings.file),
    sentences,
    starts: decodeStarts(ofStarts.bytes, sentences.size, ofStarts.file),
  });
  const ofPassages = { expected: settings.passages, noun: 'passages', says: SEARCH_FOLDER.marker };
  for (const { file, size, expected, noun, says } of [
    { ...ofPassages, file: PASSAGES_FILE, size: passages.length },
    { ...ofPassages, file: POSTINGS_FILE, size: words.passages.size },
    { ...ofPassages, file: STARTS_FILE, size: words.starts.length - 1 },
    {
      file: VECTORS_FILE,
      size: vectors.size,
      expected: sentences.size,
      noun: 'sentences',
      says: SENTENCES_FILE,
    },
  ]) {
    if (size === expected) continue;
    const reason = `it has ${size} ${noun}, but ${says} says ${expected}; save the index again`;
    throw new ModelFolderError(join(folder, file), reason);
  }
  return { passages, vectors, words };
}

export function encoderFolder(folder: string): string {
  return join(folder, ENCODER_FOLDER);
}

function shaped<Value>(
  schema: z.ZodType<Value>,
  { file, bytes }: { readonly file: string; readonly bytes: Buffer },
): Value {
  try {
    const parsed = schema.safeParse(JSON.parse(bytes.toString('utf8')));
    if (parsed.success) return parsed.data;
  } catch (cause) {
    throw new ModelFolderError(file, 'it is not JSON', { cause });
  }
  throw new ModelFolderError(file, 'it is of a later version, or no part of an index');
}
