import { join } from 'node:path';
import * as z from 'zod';
import { isError, ModelFolderError, ValidationError, validate } from '../contract/index.js';
import { unitVector } from '../families/index.js';
import { countTexts, isUnspaced, largestIds, NGramHasher, type NGramOptions } from '../lexical/index.js';
import { readJsonText } from '../models/index.js';
import { mapSteps, Random, type Steps } from '../system/index.js';
import { type Moments, momentsOf, type Vectors } from './statistics.js';

/** Of a model's folder. */
export const BASELINE_FILE = 'baseline.json';

/**
 * Describes the texts that are usual for a model. It is plain JSON, so it can be stored anywhere. It contains no text:
 * its n-grams are bits of a Bloom filter, and its vectors are 8-bit numbers. As with the model's weights, someone who
 * guesses a word can test whether the texts have it.
 */
export interface Baseline {
  readonly format: 1;
  /** `training`: made of the model's training and dev texts. `texts`: made of texts that were given. */
  readonly origin: 'training' | 'texts';
  /** Number of texts that it describes. */
  readonly texts: number;
  /** Which n-grams the texts have. */
  readonly known: KnownNGrams;
  /** The share of a text's n-grams that occur in other texts, 0 to 1, over all texts. */
  readonly knownShare: Moments;
  /** The natural logarithm of a text's length in UTF-16 code units, over all texts. */
  readonly logLength: Moments;
  /**
   * The number of texts to which the model gives each label, or in which it finds an entity of each type. Absent for
   * other models.
   */
  readonly labels?: Readonly<Record<string, number>>;
  /** Vectors of a random sample of the texts. Absent if the encoder was trained on all of them. */
  readonly vectors?: BaselineVectors;
}

/** A Bloom filter (Bloom 1970). */
export interface KnownNGrams {
  readonly options: NGramOptions;
  /** Number of n-grams in the filter. */
  readonly count: number;
  /** Base64 of its bits. */
  readonly bits: string;
}

/** Vectors of some texts of a baseline. */
export interface BaselineVectors {
  readonly width: number;
  /** Base64 of signed bytes, [texts, width]. Each vector is scaled so that its largest number is 127 or -127. */
  readonly codes: string;
  /** The same for a fixed text, which identifies the encoder: [width]. */
  readonly probe: string;
}

/** An encoder that gives this text another vector is another encoder. */
export const PROBE_TEXT = 'The quick brown fox jumps over the lazy dog.';

/** Most vectors of a baseline. */
export const MOST_VECTORS = 500;
/** Of more texts, n-grams are counted in a random sample. */
const MOST_COUNTED = 20_000;
/** The n-grams that are in the most texts. */
const MOST_KNOWN = 200_000;
/** n-grams and lengths of longer texts are those of their beginning. In UTF-16 code units. */
const MOST_READ = 20_000;

/** 14 bits and 10 hashes for each n-gram: 1 of 800 unknown ones counts as known. */
const BITS_FOR_EACH = 14;
const HASHES = 10;

const momentsSchema = z.lazy(() =>
  z.strictObject({ count: z.int().min(0), mean: z.number(), variance: z.number().min(0) }),
);
const base64Schema = z.lazy(() => z.base64());
const baselineSchema: z.ZodType<Baseline> = z.lazy(() =>
  z.strictObject({
    format: z.literal(1, 'it was made by another version of this library; make a new one'),
    origin: z.enum(['training', 'texts']),
    texts: z.int().min(1),
    known: z.strictObject({
      options: z.strictObject({
        lowercase: z.boolean(),
        words: z.boolean(),
        characters: z.strictObject({ shortest: z.int().min(1).max(16), longest: z.int().min(1).max(16) }).nullable(),
      }),
      count: z.int().min(0),
      bits: base64Schema,
    }),
    knownShare: momentsSchema,
    logLength: momentsSchema,
    labels: z.record(z.string(), z.int().min(0)).exactOptional(),
    vectors: z.strictObject({ width: z.int().min(1), codes: base64Schema, probe: base64Schema }).exactOptional(),
  }),
);

/** @throws ValidationError for a value that is no baseline */
export function requireBaseline(value: unknown): Baseline {
  const baseline = validate(baselineSchema, value, ['baseline']);
  const { known, vectors } = baseline;
  const bits = bytesOf(known.bits).length;
  const width = vectors?.width ?? 1;
  const [codes, probe] = [bytesOf(vectors?.codes ?? '').length, bytesOf(vectors?.probe ?? '').length];
  const isWhole = bits > 0 && codes % width === 0 && (vectors === undefined || probe === width);
  if (isWhole) return baseline;
  const msg = 'its bits or vectors are cut off; make a new one';
  throw new ValidationError([{ loc: ['baseline'], msg, type: 'invalid_baseline' }]);
}

const MAX_BASELINE_BYTES = 64 * 1024 ** 2;

/** The baseline of a model's folder. @throws ModelFolderError if there is none, or it can't be read */
export async function readBaseline(directory: string): Promise<Baseline> {
  const file = join(directory, BASELINE_FILE);
  const { json } = await readJsonText(directory, BASELINE_FILE, MAX_BASELINE_BYTES).catch((thrown: unknown) => {
    const cause = isError(thrown) ? thrown.cause : undefined;
    if (!isError(cause) || !('code' in cause) || cause.code !== 'ENOENT') throw thrown;
    const reason =
      'the model has no baseline, because only models that this version trained on rows have one; compare with usual texts: `baseline: await orThrow(model.baseline({ texts }))`';
    throw new ModelFolderError(file, reason, { cause });
  });
  try {
    return requireBaseline(json);
  } catch (thrown) {
    throw new ModelFolderError(file, isError(thrown) ? thrown.message : 'it is not a baseline', { cause: thrown });
  }
}

/** A text that a model answered, not having learned from it. */
export interface AnsweredText {
  readonly text: string;
  /** Labels given, or types of entities found, each once. */
  readonly labels: readonly string[];
}

export interface BaselineInput {
  readonly origin: Baseline['origin'];
  /** Whose n-grams are known. */
  readonly known: readonly string[];
  /** What the figures are of. Texts that are among `known` count as if they were not. */
  readonly texts: readonly AnsweredText[];
  /** All labels that the model has; undefined if it gives none. */
  readonly labels: readonly string[] | undefined;
  /** Vectors of some of the texts, and of {@link PROBE_TEXT}. */
  readonly vectors?: { readonly some: readonly Float32Array[]; readonly probe: Float32Array } | undefined;
}

export function* makeBaseline({ origin, known, texts, labels, vectors }: BaselineInput, seed: number): Steps<Baseline> {
  const counted = drawn(known, MOST_COUNTED, seed).map(beginning);
  const options: NGramOptions = isUnspaced(counted)
    ? { lowercase: true, words: false, characters: { shortest: 1, longest: 3 } }
    : { lowercase: true, words: true, characters: null };
  const { hashes, frequencies } = yield* countTexts(counted, options);
  const kept = largestIds(frequencies, MOST_KNOWN);
  const filter = NGramFilter.empty(options, kept.length);
  const alone = new Set<number>(); // in one text only
  for (const id of kept) {
    const hash = hashes[id] ?? 0;
    filter.add(hash);
    if (frequencies[id] === 1) alone.add(hash);
  }
  const own = new Set(counted);
  const shares = yield* mapSteps(texts, ({ text }) =>
    filter.share(text, own.has(beginning(text)) ? (hash) => alone.has(hash) : undefined),
  );
  return {
    format: 1,
    origin,
    texts: texts.length,
    known: filter.encode(),
    knownShare: momentsOf(shares),
    logLength: momentsOf(texts.map(({ text }) => logLength(text))),
    ...(labels && { labels: labelCounts(labels, texts) }),
    ...(vectors && { vectors: encodeVectors(vectors.some, vectors.probe) }),
  };
}

/** @param names labels that are listed even if no text has them */
export function labelCounts(
  names: readonly string[],
  texts: Iterable<Pick<AnsweredText, 'labels'>>,
): Readonly<Record<string, number>> {
  const counts = new Map(names.map((name) => [name, 0]));
  for (const { labels } of texts) for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
  return Object.fromEntries(counts);
}

/** All items, or a random sample of `most` of them. */
export function drawn<T>(items: readonly T[], most: number, seed: number): readonly T[] {
  if (items.length <= most) return items;
  const order = Int32Array.from(items.keys());
  const random = Random.fromSeed(seed);
  return Array.from({ length: most }, (_, at) => {
    const place = at + random.integer(order.length - at);
    const chosen = order[place] ?? 0;
    order[place] = order[at] ?? 0;
    return items[chosen];
  }).filter((item): item is T => item !== undefined);
}

const beginning = (text: string): string => text.slice(0, MOST_READ);

export const logLength = (text: string): number => Math.log(Math.max(1, Math.min(MOST_READ, text.length)));

/** Tells which n-grams of a text are known. */
export class NGramFilter {
  readonly #hasher: NGramHasher;
  readonly #bits: Uint8Array;
  readonly #count: number;

  private constructor(options: NGramOptions, bits: Uint8Array, count: number) {
    this.#hasher = new NGramHasher(options);
    this.#bits = bits;
    this.#count = count;
  }

  static empty(options: NGramOptions, count: number): NGramFilter {
    return new NGramFilter(options, new Uint8Array(Math.max(1, Math.ceil((count * BITS_FOR_EACH) / 8))), count);
  }

  static decode({ options, bits, count }: KnownNGrams): NGramFilter {
    return new NGramFilter(options, bytesOf(bits), count);
  }

  encode(): KnownNGrams {
    return { options: this.#hasher.options, count: this.#count, bits: base64Of(this.#bits) };
  }

  add(hash: number): void {
    for (let round = 0; round < HASHES; round += 1) {
      const bit = this.#bit(hash, round);
      this.#bits[bit >>> 3] = (this.#bits[bit >>> 3] ?? 0) | (1 << (bit & 7));
    }
  }

  /**
   * The share of a text's n-grams that are known, 0 to 1; 1 of a text without any.
   * @param isOwn n-grams that count as unknown, being known from this text alone
   */
  share(text: string, isOwn?: (hash: number) => boolean): number {
    const { hashes, end } = this.#hasher.hash(beginning(text));
    let known = 0;
    for (let at = 0; at < end; at += 1) {
      const hash = hashes[at] ?? 0;
      if (this.#has(hash) && !isOwn?.(hash)) known += 1;
    }
    return end === 0 ? 1 : known / end;
  }

  #has(hash: number): boolean {
    for (let round = 0; round < HASHES; round += 1) {
      const bit = this.#bit(hash, round);
      if (((this.#bits[bit >>> 3] ?? 0) & (1 << (bit & 7))) === 0) return false;
    }
    return true;
  }

  /** Kirsch & Mitzenmacher 2006: all hashes from two. */
  #bit(hash: number, round: number): number {
    const first = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    const second = Math.imul(hash ^ (hash >>> 15), 0xc2b2ae35) | 1;
    return ((first + Math.imul(round, second)) >>> 0) % (8 * this.#bits.length);
  }
}

const base64Of = ({ buffer, byteOffset, byteLength }: Uint8Array | Int8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('base64');

function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(Buffer.from(base64, 'base64'));
}

const LARGEST_CODE = 127;

/** Numbers of one vector as bytes, the largest as 127. */
function codesOf(vector: Float32Array): Int8Array {
  const largest = vector.reduce((most, each) => Math.max(most, Math.abs(each)), 0) || 1;
  return Int8Array.from(vector, (each) => Math.round((LARGEST_CODE * each) / largest));
}

function encodeVectors(some: readonly Float32Array[], probe: Float32Array): BaselineVectors {
  const width = probe.length;
  const codes = new Int8Array(some.length * width);
  for (const [row, vector] of some.entries()) codes.set(codesOf(vector), row * width);
  return { width, codes: base64Of(codes), probe: base64Of(codesOf(probe)) };
}

/** Vectors of unit length. */
export function decodeVectors({ width, codes }: Pick<BaselineVectors, 'width' | 'codes'>): Vectors {
  const signed = new Int8Array(bytesOf(codes).buffer);
  const values = new Float32Array(signed.length);
  for (let start = 0; start < signed.length; start += width) {
    values.set(unitVector(Float32Array.from(signed.subarray(start, start + width))), start);
  }
  return { width, values };
}

/** As {@link decodeVectors} gives them, so that both samples are rounded alike. */
export function roundedVectors(some: readonly Float32Array[], width: number): Vectors {
  const values = new Float32Array(some.length * width);
  for (const [row, vector] of some.entries()) {
    values.set(unitVector(Float32Array.from(codesOf(vector))), row * width);
  }
  return { width, values };
}

/** Vectors of one encoder differ by rounding, in a copy with 8-bit weights by up to 0.005; those of another one by far more. */
const LEAST_COSINE = 0.99;

interface ComparedModel {
  /** All labels that it has; undefined if it gives none. */
  readonly labels: readonly string[] | undefined;
  /** Its vector of {@link PROBE_TEXT}; needed if the baseline has vectors. */
  readonly probe: Float32Array | undefined;
}

/** @throws ValidationError if the baseline was made with a model of other labels, or of an evidently different encoder */
export function requireSameModel({ labels: counts, vectors }: Baseline, { labels, probe }: ComparedModel): void {
  const known = counts && new Set(Object.keys(counts));
  const isSame = known === undefined ? labels === undefined : labels?.every((label) => known.has(label));
  if (!isSame) throw otherModel('whose labels differ');
  if (vectors === undefined || probe === undefined) return;
  const before = decodeVectors({ width: vectors.width, codes: vectors.probe }).values;
  const now = roundedVectors([probe], probe.length).values;
  const cosine = before.reduce((sum, each, at) => sum + each * (now[at] ?? 0), 0);
  if (probe.length !== vectors.width || cosine < LEAST_COSINE) throw otherModel('whose vectors differ');
}

function otherModel(why: string): ValidationError {
  const msg = `it was made with another model, ${why}; compare with usual texts of this model: \`baseline: await orThrow(model.baseline({ texts }))\``;
  return new ValidationError([{ loc: ['baseline'], msg, type: 'other_model' }]);
}
