import { ModelFolderError } from '../contract/index.js';
import { roundedToFloat16 } from '../models/index.js';
import { fields, flag, nullable, whole } from '../system/index.js';
import {
  ByteTable,
  type ByteWeights,
  decodeWeights,
  ExpertMemory,
  encodeWeights,
  parseEntry,
  quantizeWeights,
  readExpertFile,
  type StoredFloats,
} from './expert-file.js';
import { CharacterKind, characterKind, type NGramOptions, TfIdf } from './tf-idf.js';

/** Each length adds a feature for every character of a text. */
const LONGEST_N_GRAM = 16;
const lengthShape = whole(1, LONGEST_N_GRAM);
const charactersShape = fields({ shortest: lengthShape, longest: lengthShape }, {}, 'refused');
const optionsShape = fields(
  { lowercase: flag, words: flag, characters: nullable(charactersShape) },
  { triples: flag, pairs: flag },
  'refused',
);

interface LexicalReading {
  /** Above 0 means yes. [outputs] */
  readonly margins: Float32Array;
  /** The share of n-grams seen in training, 0 to 1. */
  readonly coverage: number;
}

/** A linear model over n-grams; its weights are bytes, in memory as in the file. */
export class LinearExpert {
  readonly #memory: ExpertMemory;
  readonly #tfIdf: TfIdf;
  readonly #table: ByteTable;
  /** The features of a text to add up next. */
  readonly #bag: Int32Array;
  /** [outputs] */
  readonly #bias: Float32Array;

  constructor(options: NGramOptions, terms: StoredFloats, weights: ByteWeights, bias: Float32Array) {
    const { hashes } = weights;
    const memory = new ExpertMemory([
      ...TfIdf.counts(hashes.length),
      ...ByteTable.counts(hashes.length, bias.length, 1),
      2,
    ]);
    this.#memory = memory;
    this.#tfIdf = new TfIdf(options, hashes, terms, memory);
    this.#bag = memory.arena.int32(2);
    const { ids, values } = this.#tfIdf;
    this.#table = new ByteTable(memory, weights, bias.length, { bags: { ids, starts: this.#bag }, values });
    this.#bias = bias;
  }

  get outputs(): number {
    return this.#bias.length;
  }

  read(text: string): LexicalReading {
    const margins = this.#bias.slice();
    const count = this.#tfIdf.weigh(text);
    for (let start = 0; start < count; start += FEATURES_AT_ONCE) {
      this.#bag[0] = start;
      this.#bag[1] = Math.min(count, start + FEATURES_AT_ONCE);
      const sums = this.#table.sum(1);
      for (let output = 0; output < margins.length; output += 1) {
        margins[output] = (margins[output] ?? 0) + (sums[output] ?? 0);
      }
    }
    return { margins, coverage: this.#tfIdf.coverage };
  }

  /** weight · value of each n-gram, shared evenly by its characters, at their first code units. [text.length] */
  contributions(text: string, direction: ArrayLike<number>): Float64Array {
    const { bytes, scales } = this.#table;
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

  /** What {@link encodeLinearExpert} writes. */
  get parts() {
    return { tfIdf: this.#tfIdf, table: this.#table, bias: this.#bias };
  }

  /** @param file named in errors. @throws ModelFolderError */
  static decode(bytes: Uint8Array, file: string): LinearExpert {
    const refused = (reason: string) => new ModelFolderError(file, reason);
    const content = readExpertFile(bytes, file);
    const options = parseEntry(optionsShape, content.metadata.n_grams);
    if (options === undefined) throw refused('its n_grams entry is missing or of a later version');
    const { weights, perOutput: bias, other: terms } = decodeWeights(content, 'bias', 'term_weights', file);
    const size = weights.hashes.length;
    if (terms.length !== size) throw refused(`its term_weights don't fit its ${size} hashes`);
    if ((options.characters?.shortest ?? 0) > (options.characters?.longest ?? 0)) {
      throw refused('its shortest n-gram is longer than its longest');
    }
    const expert = new LinearExpert(options, terms, weights, bias);
    expert.#memory.requireSound(expert.#tfIdf.table, weights.hashes, file);
    return expert;
  }
}

/** @param weights [features + 1, stride], the last row being the bias. */
export function linearExpertOf(tfIdf: TfIdf, weights: Float32Array, outputs: number, stride: number): LinearExpert {
  const hashes = tfIdf.table.hashes();
  const bias = weights.slice(tfIdf.size * stride, tfIdf.size * stride + outputs);
  const rounded = quantizeWeights(hashes, { weights, stride, outputs }, Int32Array.from(hashes.keys()));
  return new LinearExpert(tfIdf.options, roundedToFloat16(tfIdf.weights), rounded, roundedToFloat16(bias));
}

export function encodeLinearExpert(expert: LinearExpert): Uint8Array {
  const { tfIdf, table, bias } = expert.parts;
  const { size, weights, options } = tfIdf;
  const others = {
    term_weights: { shape: [size], values: weights },
    scales: { shape: [size], values: table.scales },
    bias: { shape: [bias.length], values: bias },
  };
  const { bytes } = table;
  return encodeWeights({ hashes: tfIdf.table.hashes(), bytes }, others, { n_grams: JSON.stringify(options) });
}

/** The sums of longer texts are rounded in between; another number would change their last bits. */
const FEATURES_AT_ONCE = 4096;

/** Places are code points of a text as it is read. */
interface PlacedValue {
  readonly value: number;
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
}

/** Evenly, white space left out. @returns the sum for each character, at its first UTF-16 code unit. [text.length] */
export function spreadOverText(text: string, lowercase: boolean, values: Iterable<PlacedValue>): Float64Array {
  const spread = new Float64Array(text.length);
  const places = placesOf(text, lowercase);
  for (const { value, start, end } of values) {
    const covered = places.slice(Math.max(0, start), end).filter(({ isSpace }) => !isSpace);
    for (const { at } of covered) spread[at] = (spread[at] ?? 0) + value / covered.length;
  }
  return spread;
}

interface Place {
  /** The first code unit of its character. */
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
