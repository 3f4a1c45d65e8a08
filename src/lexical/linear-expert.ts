import { ModelFolderError } from '../contract/index.js';
import { Arena, type IdBags, type Kernels, loadKernels } from '../engine/index.js';
import {
  decodeSafetensors,
  encodeSafetensors,
  type IntegerTensor,
  type NamedTensor,
  roundedToFloat16,
} from '../models/index.js';
import { fields, flag, nullable, quantizeRow, whole } from '../system/index.js';
import { areModerate, paddedOutputs, padRows, parseEntry } from './expert-file.js';
import { CharacterKind, characterKind } from './n-grams.js';
import { type SparseVector, TfIdf } from './tf-idf.js';

/** The byte for a feature's largest weight; its other weights are stored in proportion. */
const LARGEST_BYTE = 127;

/** The weights of a linear model, as they are stored. */
interface QuantizedWeights {
  /** [features, outputs]; the weight is the byte times the feature's scale. */
  readonly bytes: Int8Array;
  /** [features] */
  readonly scales: Float32Array;
  /** [outputs] */
  readonly bias: Float32Array;
}

/** Longer than any n-gram that helps: each length adds a feature for every character of a text. */
const LONGEST_N_GRAM = 16;
const lengthShape = whole(1, LONGEST_N_GRAM);
const charactersShape = fields({ shortest: lengthShape, longest: lengthShape }, {}, 'refused');
const optionsShape = fields(
  { lowercase: flag, words: flag, characters: nullable(charactersShape) },
  { triples: flag },
  'refused',
);

/** What a linear expert says about a text. */
interface LexicalReading {
  /** The signed distance of the text from each output's hyperplane; above 0 means yes. [outputs] */
  readonly margins: Float32Array;
  /** The share of its n-grams that the expert has seen in training, 0 to 1. */
  readonly coverage: number;
}

/** A linear model over the n-grams of a text; its weights are bytes, in memory as in the file. */
export class LinearExpert {
  readonly #kernels: Kernels;
  readonly #table: Int8Array;
  readonly #sums: Float32Array;
  readonly #arena: Arena;
  /** The features of a text, or of a part of it: one bag. */
  readonly #bag: IdBags;
  readonly #values: Float32Array;
  readonly #tfIdf: TfIdf;
  readonly #weights: QuantizedWeights;

  private constructor(tfIdf: TfIdf, weights: QuantizedWeights) {
    this.#tfIdf = tfIdf;
    this.#weights = weights;
    const { outputs } = this;
    const width = paddedOutputs(outputs);
    const sizes = [(tfIdf.size * width) / 4, width, MAX_FEATURES_A_TEXT, MAX_FEATURES_A_TEXT, 2];
    this.#arena = new Arena(Arena.bytesFor(sizes));
    this.#table = this.#arena.int8(tfIdf.size * width);
    this.#sums = this.#arena.float32(width);
    this.#values = this.#arena.float32(MAX_FEATURES_A_TEXT);
    this.#bag = { ids: this.#arena.int32(MAX_FEATURES_A_TEXT), starts: this.#arena.int32(2) };
    padRows(weights.bytes, outputs, this.#table, width);
    this.#kernels = loadKernels(this.#arena);
  }

  /**
   * @param weights [features + 1, stride], the last row being the bias; columns after `outputs` are left out.
   */
  static fromWeights(tfIdf: TfIdf, weights: Float32Array, outputs: number, stride: number): LinearExpert {
    const bytes = new Int8Array(tfIdf.size * outputs);
    const scales = Float32Array.from({ length: tfIdf.size }, (_, id) => {
      const row = weights.subarray(id * stride, id * stride + outputs);
      return quantizeRow(row, LARGEST_BYTE, bytes.subarray(id * outputs, (id + 1) * outputs));
    });
    const bias = weights.slice(tfIdf.size * stride, tfIdf.size * stride + outputs);
    // Rounded as in the file, so that the stored expert gives the same answers as this one.
    const terms = tfIdf.withWeights(roundedToFloat16(tfIdf.weights));
    const rounded = { bytes, scales: roundedToFloat16(scales), bias: roundedToFloat16(bias) };
    return new LinearExpert(terms, rounded);
  }

  get outputs(): number {
    return this.#weights.bias.length;
  }

  /** The margins of a text, and how much of it the expert knows. */
  read(text: string): LexicalReading {
    const margins = this.#weights.bias.slice();
    const features = this.#tfIdf.vector(text);
    for (let start = 0; start < features.ids.length; start += MAX_FEATURES_A_TEXT) {
      this.#fillBag(features, start);
      this.#kernels.sumByteRows(this.#table, this.#bag, this.#values, this.#sums);
      for (let output = 0; output < margins.length; output += 1) {
        margins[output] = (margins[output] ?? 0) + (this.#sums[output] ?? 0);
      }
    }
    return { margins, coverage: features.coverage };
  }

  /**
   * What each character adds to a sum of the margins, exactly: weight · value of each n-gram, shared evenly by the
   * characters it stands on. All together are that sum without the bias.
   * @param direction how much each output counts in the sum. [outputs]
   * @returns for each character, at its first UTF-16 code unit. [text.length]
   */
  contributions(text: string, direction: ArrayLike<number>): Float64Array {
    const { bytes, scales } = this.#weights;
    const { outputs } = this;
    const weightOf = (id: number) => {
      let sum = 0;
      for (let output = 0; output < outputs; output += 1) {
        sum += (direction[output] ?? 0) * (bytes[id * outputs + output] ?? 0);
      }
      return sum * (scales[id] ?? 0);
    };
    const added = this.#tfIdf
      .occurrences(text)
      .map(({ id, value, start, end }) => ({ value: value * weightOf(id), start, end }));
    return spreadOverText(text, this.#tfIdf.options.lowercase, added);
  }

  /** The features from `start` on, as far as there is room, with what each byte of their weights counts. */
  #fillBag(features: SparseVector, start: number): void {
    const { ids, starts } = this.#bag;
    const values = this.#values;
    const { scales } = this.#weights;
    const count = Math.min(MAX_FEATURES_A_TEXT, features.ids.length - start);
    for (let at = 0; at < count; at += 1) {
      const id = features.ids[start + at] ?? 0;
      ids[at] = id;
      values[at] = (features.values[start + at] ?? 0) * (scales[id] ?? 0);
    }
    starts[1] = count;
  }

  /** The bytes of a safetensors file. */
  encode(): Uint8Array {
    const { size, hashes, weights, options } = this.#tfIdf;
    const { bytes, scales, bias } = this.#weights;
    const tensors = new Map<string, NamedTensor | IntegerTensor>([
      ['hashes', { shape: [size], values: hashes }],
      ['term_weights', { shape: [size], values: weights }],
      ['scales', { shape: [size], values: scales }],
      ['bias', { shape: [bias.length], values: bias }],
      ['weights', { shape: [size, bias.length], values: bytes }],
    ]);
    return encodeSafetensors(tensors, { n_grams: JSON.stringify(options) }, { floats: 'F16' });
  }

  /** @param file named in errors. @throws ModelFolderError */
  static decode(bytes: Uint8Array, file: string): LinearExpert {
    const refused = (reason: string) => new ModelFolderError(file, reason);
    const { tensors, integers, metadata } = decodeSafetensors(bytes, file);
    const options = parseEntry(optionsShape, metadata.n_grams);
    if (options === undefined) throw refused('its n_grams entry is missing or of a later version');
    const hashes = integers.get('hashes')?.values;
    const weights = integers.get('weights')?.values;
    const terms = tensors.get('term_weights')?.values;
    const scales = tensors.get('scales')?.values;
    const bias = tensors.get('bias')?.values;
    if (!(hashes instanceof Int32Array && weights instanceof Int8Array && terms && scales && bias)) {
      throw refused('one of hashes (I32), weights (I8), term_weights, scales, bias is missing');
    }
    const size = hashes.length;
    if (terms.length !== size || scales.length !== size || weights.length !== size * bias.length) {
      throw refused(`its term_weights, scales or weights don't fit its ${size} hashes`);
    }
    if (![terms, scales, bias].every(areModerate)) {
      throw refused('one of its term_weights, scales or bias is too large, or not a number');
    }
    if ((options.characters?.shortest ?? 0) > (options.characters?.longest ?? 0)) {
      throw refused('its shortest n-gram is longer than its longest');
    }
    const tfIdf = new TfIdf(options, hashes, terms);
    if (tfIdf.distinct !== size) throw refused('a hash occurs twice, or too many of them share a place');
    return new LinearExpert(tfIdf, { bytes: weights, scales, bias });
  }
}

/** How many features the kernel sums at once; a text with more takes several calls. */
const MAX_FEATURES_A_TEXT = 4096;

/** What an n-gram adds, and where it stands, in code points of a text as it is read. */
interface PlacedValue {
  readonly value: number;
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
}

/**
 * Spreads values over the characters that they stand on, evenly, white space left out, so that all of them together are
 * the sum of the values. A value that stands on white space alone, which no n-gram does, is left out.
 * @param lowercase whether the text was read in lower case, in which some characters are several.
 * @returns the sum for each character, at its first UTF-16 code unit. [text.length]
 */
export function spreadOverText(text: string, lowercase: boolean, values: Iterable<PlacedValue>): Float64Array {
  const spread = new Float64Array(text.length);
  const places = placesOf(text, lowercase);
  for (const { value, start, end } of values) {
    const covered = places.slice(Math.max(0, start), end).filter(({ isSpace }) => !isSpace);
    for (const { at } of covered) spread[at] = (spread[at] ?? 0) + value / covered.length;
  }
  return spread;
}

/** A code point as it is read. */
interface Place {
  /** The first UTF-16 code unit of the character that it is read from. */
  readonly at: number;
  readonly isSpace: boolean;
}

function placesOf(text: string, lowercase: boolean): Place[] {
  const places: Place[] = [];
  let at = 0;
  for (const character of text) {
    for (const read of lowercase ? character.toLowerCase() : character) {
      places.push({ at, isSpace: characterKind(read.codePointAt(0) ?? 0) === CharacterKind.space });
    }
    at += character.length;
  }
  return places;
}
