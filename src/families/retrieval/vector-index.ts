import { ModelFolderError } from '../../contract/index.js';
import { type AnswerKernels, Arena, DOT_STEP, loadAnswerKernels } from '../../engine/index.js';
import { decodeSafetensors, encodeSafetensors } from '../../models/index.js';
import { quantizeRow, type Scored, scoreBelowTop, topScores } from '../../system/index.js';
import type { TextOutputs } from '../../text/index.js';

const LARGEST_CODE = 127;
const LARGEST_INT16 = 32_767;
/** The largest sum of products that fits into 32 bits. */
const LARGEST_SUM = 2 ** 31 - 1;

/** Quantizes a vector to bytes: element ≈ code · scale. @returns the scale */
export function quantizeVector(vector: Float32Array, codes: Int8Array): number {
  return quantizeRow(vector, LARGEST_CODE, codes);
}

/**
 * Quantizes to 16-bit integers, as large as possible without overflow in a dot product with codes, so that the rounding
 * error is negligible compared with that of the codes. @returns the scale
 */
export function quantizeQuery(query: Float32Array, integers: Int16Array): number {
  const most = Math.min(LARGEST_INT16, Math.floor(LARGEST_SUM / (LARGEST_CODE * integers.length)));
  return quantizeRow(query, most, integers);
}

/** Maximum error of a dot product per unit of the vector's scale: each element is rounded by at most half a scale. */
export function largestError(query: Float32Array, queryScale: number): number {
  let sum = 0;
  for (let at = 0; at < query.length; at += 1) sum += Math.abs(query[at] ?? 0);
  const ofIntegers = (queryScale / 2) * LARGEST_CODE * query.length;
  return (sum / 2 + ofIntegers) * (1 + ROUNDING);
}

/** A bound on the relative rounding error of float32 scores. */
const ROUNDING = 2 ** -8;

/** The number of best vectors by codes that are scored exactly: 4 for each one asked for, but at least 256. */
const RESCORED_FOR_EACH = 4;
const MIN_RESCORED = 256;

/** Room for vectors to come, when an index must grow. */
const GROWTH = 1.25;

/** Maximum width of vectors in a file; today's encoders have at most 4,096. */
const MAX_WIDTH = 65_536;
/** Maximum element of vectors in a file; unit vectors, as encoders give them, have at most 1. */
const LARGEST_ELEMENT = 1e6;
/** Maximum number of elements: with codes, scales and scores they take less than an arena's 4 GiB. */
const MAX_ELEMENTS = 2 ** 29;

/**
 * Finds the nearest vectors by dot product. Every vector is compared as bytes with its own scale; candidates again in
 * float32, so that scores are exact. A vector can be missed only among more than a few hundred candidates, and then
 * rarely (figures: `npm run bench -- search`). Not for concurrent use.
 */
export class VectorIndex {
  /** The vectors, each padded with zeros to a multiple of {@link DOT_STEP}. [size, stride] */
  readonly #vectors: Float32Array;
  readonly #stride: number;
  readonly #codes: Int8Array;
  readonly #scales: Float32Array;
  readonly #query: Float32Array;
  readonly #queryIntegers: Int16Array;
  readonly #ids: Int32Array;
  readonly #byteScores: Float32Array;
  readonly #scores: Float32Array;
  readonly #arena: Arena;
  readonly #kernels: AnswerKernels;
  /** Of all elements, or NaN if one is. */
  #largest = 0;
  #size = 0;

  private constructor(
    /** The number of vectors that there is room for. */
    readonly capacity: number,
    readonly width: number,
  ) {
    this.#stride = Math.ceil(width / DOT_STEP) * DOT_STEP;
    const elements = capacity * this.#stride;
    const counts = [elements, elements / 4, capacity, capacity, capacity, capacity, this.#stride, this.#stride];
    this.#arena = new Arena(Arena.bytesFor(counts));
    this.#vectors = this.#arena.float32(elements);
    this.#codes = this.#arena.int8(elements);
    this.#scales = this.#arena.float32(capacity);
    this.#ids = this.#arena.int32(capacity);
    this.#byteScores = this.#arena.float32(capacity);
    this.#scores = this.#arena.float32(capacity);
    this.#query = this.#arena.float32(this.#stride);
    this.#queryIntegers = this.#arena.int16(this.#stride);
    this.#kernels = loadAnswerKernels(this.#arena);
  }

  /** @param vectors [size, width]; copied. @throws RangeError for a broken row, or more than 4 GiB of memory */
  static fromVectors(vectors: Float32Array, width: number): VectorIndex {
    const size = vectors.length / width;
    if (!(Number.isSafeInteger(size) && Number.isSafeInteger(width))) {
      throw new RangeError(`${vectors.length} elements are not a whole number of vectors of ${width}`);
    }
    const index = new VectorIndex(size, width);
    index.#append(vectors);
    return index;
  }

  static empty(width: number): VectorIndex {
    return new VectorIndex(0, width);
  }

  get size(): number {
    return this.#size;
  }

  /**
   * An index with more vectors at its end: this one, or a larger one if it has no room. Use this one no longer.
   * @param vectors each as wide as the index. @param expected the number of vectors that there will be, if it is known
   * @throws RangeError for more than 4 GiB of memory
   */
  with(vectors: readonly Float32Array[], expected = 0): VectorIndex {
    const size = this.#size + vectors.length;
    let index: VectorIndex = this;
    if (size > this.capacity) {
      index = new VectorIndex(Math.max(expected, Math.ceil(size * GROWTH)), this.width);
      index.#takeAll(this);
    }
    index.#append(joined(vectors));
    return index;
  }

  /** What another index has, into this empty one. */
  #takeAll(other: VectorIndex): void {
    this.#size = other.#size;
    this.#largest = other.#largest;
    this.#vectors.set(other.#vectors.subarray(0, other.#size * other.#stride));
    this.#codes.set(other.#codes.subarray(0, other.#size * other.#stride));
    this.#scales.set(other.#scales.subarray(0, other.#size));
  }

  /** An index with some of the vectors. @param ids ascending */
  only(ids: readonly number[]): VectorIndex {
    return VectorIndex.fromVectors(joined(ids.map((id) => this.rows(id, id + 1))), this.width);
  }

  /** The Euclidean norm of the sum of the vectors from `start` to before `end`. */
  normOfSum(start: number, end: number): number {
    const sum = new Float32Array(this.width);
    for (let id = start; id < end; id += 1) {
      const at = id * this.#stride;
      for (let column = 0; column < this.width; column += 1) {
        sum[column] = (sum[column] ?? 0) + (this.#vectors[at + column] ?? 0);
      }
    }
    return Math.hypot(...sum);
  }

  /** @param vectors [any number, width] */
  #append(vectors: Float32Array): void {
    const from = this.#size;
    this.#size += vectors.length / this.width;
    for (let id = from; id < this.#size; id += 1) {
      const start = (id - from) * this.width;
      this.#vectors.set(vectors.subarray(start, start + this.width), id * this.#stride);
    }
    const elements = [from * this.#stride, this.#size * this.#stride] as const;
    const largest = this.#kernels.quantizeRows(
      this.#vectors.subarray(...elements),
      this.#codes.subarray(...elements),
      this.#scales.subarray(from, this.#size),
      LARGEST_CODE,
    );
    this.#largest = Math.max(this.#largest, largest);
  }

  /** [end - start, width] */
  rows(start: number, end: number): Float32Array {
    const rows = new Float32Array((end - start) * this.width);
    for (let id = start; id < end; id += 1) {
      const at = id * this.#stride;
      rows.set(this.#vectors.subarray(at, at + this.width), (id - start) * this.width);
    }
    return rows;
  }

  get memoryBytes(): number {
    return this.#arena.usedBytes;
  }

  /**
   * Nearest first and equally near ones by id; fewer if the index has fewer.
   * @param query [width]. @throws RangeError for another width, as the methods below do
   */
  search(query: Float32Array, k: number): Scored[] {
    const most = Math.max(MIN_RESCORED, RESCORED_FOR_EACH * k);
    if (most >= this.size) return this.searchExact(query, k);
    this.#setQuery(query);
    const ids = this.#rescoredIds(query, k, most);
    return topScores(this.scoresOf(query, ids), k).map(({ id, score }) => ({ id: ids[id] ?? 0, score }));
  }

  /**
   * The ids, ascending, that can be among the k nearest: the exact scores of the nearest ones by codes set a threshold,
   * and the error bound tells which others can exceed it. If these are more than `most`, the `most` nearest by codes.
   */
  #rescoredIds(query: Float32Array, k: number, most: number): Int32Array {
    // The query's scale is left out of the scores: it is the same for all vectors, so their order stays.
    const scale = quantizeQuery(query, this.#queryIntegers);
    const byteScores = this.#byteScores.subarray(0, this.#size);
    const codes = this.#codes.subarray(0, this.#size * this.#stride);
    this.#kernels.dotByteRows(codes, this.#scales.subarray(0, this.#size), this.#queryIntegers, byteScores);
    const likely = this.#idsAbove(scoreBelowTop(byteScores, k), 0, most);
    if (likely.length >= k && likely.length <= most) {
      const threshold = this.scoresOf(query, likely).reduce(
        (least, score) => Math.min(least, score),
        Number.POSITIVE_INFINITY,
      );
      const possible = this.#idsAbove(threshold / scale, largestError(query, scale) / scale, most);
      if (possible.length >= k && possible.length <= most) return possible;
    }
    return Int32Array.from(topScores(byteScores, most), ({ id }) => id).sort();
  }

  /** The ids, ascending, whose byte score plus `error` times their scale reaches the threshold; at most `most` + 1. */
  #idsAbove(threshold: number, error: number, most: number): Int32Array {
    const scores = this.#byteScores;
    const scales = this.#scales;
    const ids = new Int32Array(most + 1);
    let count = 0;
    for (let id = 0; id < this.#size && count <= most; id += 1) {
      if (!((scores[id] ?? 0) + (scales[id] ?? 0) * error >= threshold)) continue;
      ids[count] = id;
      count += 1;
    }
    return ids.subarray(0, count);
  }

  /** Like {@link search}, but compares every vector in float32. */
  searchExact(query: Float32Array, k: number): Scored[] {
    return topScores(this.scores(query), k);
  }

  /** The dot products of all vectors with the query, in float32. [size] */
  scores(query: Float32Array): Float32Array {
    for (let id = 0; id < this.size; id += 1) this.#ids[id] = id;
    return this.#dotRows(query, this.size);
  }

  /** In float32. [ids] @throws RangeError for an unknown id, and for more ids than vectors */
  scoresOf(query: Float32Array, ids: Int32Array): Float32Array {
    for (let at = 0; at < ids.length; at += 1) {
      const id = ids[at] ?? 0;
      if (!(id >= 0 && id < this.size)) throw new RangeError(`id ${id}: the index has ${this.size} vectors`);
    }
    this.#ids.set(ids);
    return this.#dotRows(query, ids.length);
  }

  #dotRows(query: Float32Array, count: number): Float32Array {
    this.#setQuery(query);
    const scores = this.#scores.subarray(0, count);
    this.#kernels.dotRows(this.#vectors, this.#ids.subarray(0, count), this.#query, scores);
    return scores.slice();
  }

  #setQuery(query: Float32Array): void {
    if (query.length !== this.width) {
      throw new RangeError(`a query of ${query.length} elements: the index holds vectors of ${this.width}`);
    }
    this.#query.set(query);
  }

  /** @param file the name of the file, for errors. @throws ModelFolderError */
  static decode(bytes: Uint8Array, file: string): VectorIndex {
    const refusal = (reason: string) => new ModelFolderError(file, reason);
    const vectors = decodeSafetensors(bytes, file, { inPlace: true }).tensors.get('vectors');
    const [size, width, ...more] = vectors?.shape ?? [];
    if (vectors === undefined || size === undefined || width === undefined || more.length > 0) {
      throw refusal('a tensor "vectors" of the shape [passages, width] is missing');
    }
    if (width === 0) throw refusal('its vectors have no elements');
    if (width > MAX_WIDTH) throw refusal(`its vectors have ${width} elements, more than ${MAX_WIDTH}`);
    if (size * Math.ceil(width / DOT_STEP) * DOT_STEP > MAX_ELEMENTS) {
      throw refusal(`its ${size} vectors of ${width} elements take more than 4 GiB of memory`);
    }
    const index = VectorIndex.fromVectors(vectors.values, width);
    if (!(index.#largest <= LARGEST_ELEMENT)) throw refusal('one of its vectors is too large, or not a number');
    return index;
  }
}

export function encodeVectors(index: VectorIndex): Uint8Array {
  const { size, width } = index;
  return encodeSafetensors(new Map([['vectors', { shape: [size, width], values: index.rows(0, size) }]]));
}

/** [vectors, width] */
function joined(vectors: readonly Float32Array[]): Float32Array {
  const width = vectors[0]?.length ?? 1;
  const all = new Float32Array(vectors.length * width);
  for (const [row, vector] of vectors.entries()) all.set(vector, row * width);
  return all;
}

/** The mean of the first `tokens` rows of [at least tokens, width]. */
export function meanOfRows(states: Float32Array, tokens: number, width: number): Float32Array {
  const mean = new Float32Array(width);
  for (let start = 0; start < tokens * width; start += width) {
    for (let at = 0; at < width; at += 1) mean[at] = (mean[at] ?? 0) + (states[start + at] ?? 0) / tokens;
  }
  return mean;
}

/** A vector divided by its Euclidean norm; zeros stay zeros. */
export function unitVector(vector: Float32Array): Float32Array {
  let squares = 0;
  for (let at = 0; at < vector.length; at += 1) squares += (vector[at] ?? 0) ** 2;
  const norm = Math.sqrt(squares);
  return norm === 0 ? vector : vector.map((value) => value / norm);
}

/** Unit vectors of texts that the encoder has pooled already. [texts, width] */
export function unitVectors(texts: readonly TextOutputs[]): Float32Array {
  const width = texts[0]?.[0]?.outputs.length ?? 0;
  const vectors = new Float32Array(texts.length * width);
  for (const [row, [window]] of texts.entries()) {
    if (window) vectors.set(unitVector(window.outputs), row * width);
  }
  return vectors;
}
