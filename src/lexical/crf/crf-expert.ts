import { ModelFolderError } from '../../contract/index.js';
import { Arena, type IdBags, type Kernels, loadKernels } from '../../engine/index.js';
import {
  decodeSafetensors,
  encodeSafetensors,
  type IntegerTensor,
  type NamedTensor,
  roundedToFloat16,
} from '../../models/index.js';
import { quantizeRow, runToEnd } from '../../system/index.js';
import { areModerate, paddedOutputs, padRows } from '../expert-file.js';
import { HashTable } from '../hash-table.js';
import type { TagTransitions } from './tag-lattice.js';
import { type HashedFeatures, MAX_FEATURES_A_WORD, MAX_KEPT_WORDS, WordFeatureHasher } from './word-features.js';

/** The byte for a feature's largest weight; its other weights are stored in proportion. */
const LARGEST_BYTE = 127;

/** The weights of the features, as they are stored. */
interface QuantizedWeights {
  /** The features, by id. [features] */
  readonly hashes: Int32Array;
  /** The weight is the byte times the feature's scale. [features, tags] */
  readonly bytes: Int8Array;
  /** [features] */
  readonly scales: Float32Array;
}

/** Weights of features as they come out of training. */
interface FeatureWeights {
  /** [features] */
  readonly hashes: Int32Array;
  /** [features, width]; columns from the number of tags on are left out. */
  readonly weights: Float32Array;
  readonly width: number;
}

/**
 * A linear-chain conditional random field over features of words; its weights are bytes, in memory as in the
 * file.
 */
export class CrfExpert {
  readonly #kernels: Kernels;
  readonly #features: HashTable;
  readonly #hasher = new WordFeatureHasher();
  readonly #table: Int8Array;
  /** The features of some words: one bag for each. */
  readonly #bags: IdBags;
  readonly #values: Float32Array;
  readonly #sums: Float32Array;
  readonly #stored: QuantizedWeights;

  private constructor(
    stored: QuantizedWeights,
    readonly transitions: TagTransitions,
  ) {
    this.#stored = stored;
    const features = stored.hashes.length;
    const width = paddedOutputs(this.tags);
    const entries = WORDS_AT_ONCE * MAX_FEATURES_A_WORD;
    const sums = WORDS_AT_ONCE * width;
    const sizes = [Math.ceil((features * width) / 4), sums, entries, entries, WORDS_AT_ONCE + 1];
    const arena = new Arena(Arena.bytesFor(sizes));
    this.#table = arena.int8(features * width);
    this.#sums = arena.float32(sums);
    this.#values = arena.float32(entries);
    this.#bags = { ids: arena.int32(entries), starts: arena.int32(WORDS_AT_ONCE + 1) };
    padRows(stored.bytes, this.tags, this.#table, width);
    this.#kernels = loadKernels(arena);
    this.#features = HashTable.of(stored.hashes);
  }

  /**
   * @param maxBytes rough limit of the file: features are left out, those whose largest weight is smallest
   * first.
   */
  static fromWeights(features: FeatureWeights, transitions: TagTransitions, maxBytes: number): CrfExpert {
    const { hashes, weights, width } = features;
    const tags = transitions.start.length;
    const largest = Float32Array.from(hashes, (_, id) =>
      weights.subarray(id * width, id * width + tags).reduce((most, weight) => Math.max(most, Math.abs(weight)), 0),
    );
    const kept = largestIds(largest, Math.floor(maxBytes / bytesPerFeature(tags)));
    const bytes = new Int8Array(kept.length * tags);
    const scales = Float32Array.from(kept, (id, row) => {
      const rowWeights = weights.subarray(id * width, id * width + tags);
      return quantizeRow(rowWeights, LARGEST_BYTE, bytes.subarray(row * tags, (row + 1) * tags));
    });
    const { start, between } = transitions;
    // Rounded as in the file, so that the stored expert gives the same answers as this one.
    return new CrfExpert(
      { hashes: kept.map((id) => hashes[id] ?? 0), bytes, scales: roundedToFloat16(scales) },
      { start: roundedToFloat16(start), between: roundedToFloat16(between) },
    );
  }

  get tags(): number {
    return this.transitions.start.length;
  }

  /** The score of each tag for each word. [words, tags] */
  emissions(words: readonly string[]): Float32Array {
    return runToEnd(this.emissionsInSteps(words));
  }

  /** The same in steps of some milliseconds, between which other sentences may be scored. [words, tags] */
  *emissionsInSteps(words: readonly string[]): Generator<undefined, Float32Array> {
    const { tags } = this;
    const emissions = new Float32Array(words.length * tags);
    const traits = yield* this.#hasher.read(words);
    const width = paddedOutputs(tags);
    for (let first = 0; first < words.length; first += WORDS_AT_ONCE) {
      const count = Math.min(WORDS_AT_ONCE, words.length - first);
      const sums = this.#sums.subarray(0, count * width);
      const bags = this.#fillBags(this.#hasher.hashesOf(traits, first, count), count);
      this.#kernels.sumByteRows(this.#table, bags, this.#values, sums);
      for (let word = 0; word < count; word += 1) {
        for (let tag = 0; tag < tags; tag += 1) {
          emissions[(first + word) * tags + tag] = sums[word * width + tag] ?? 0;
        }
      }
      if (words.length > MAX_KEPT_WORDS && first % WORDS_A_STEP === 0) yield;
    }
    return emissions;
  }

  /** The features of `count` words, with what each byte of their weights counts. */
  #fillBags({ hashes, starts }: HashedFeatures, count: number): IdBags {
    const bags = this.#bags;
    const values = this.#values;
    const { scales } = this.#stored;
    let end = 0;
    for (let word = 0; word < count; word += 1) {
      end = this.#features.findAll(hashes, starts[word] ?? 0, starts[word + 1] ?? 0, bags.ids, end);
      bags.starts[word + 1] = end;
    }
    for (let at = 0; at < end; at += 1) values[at] = scales[bags.ids[at] ?? 0] ?? 0;
    return { ids: bags.ids, starts: bags.starts.subarray(0, count + 1) };
  }

  /** The bytes of a safetensors file. */
  encode(): Uint8Array {
    const { tags } = this;
    const { hashes, bytes, scales } = this.#stored;
    const { start, between } = this.transitions;
    const tensors = new Map<string, NamedTensor | IntegerTensor>([
      ['hashes', { shape: [hashes.length], values: hashes }],
      ['scales', { shape: [hashes.length], values: scales }],
      ['start', { shape: [tags], values: start }],
      ['between', { shape: [tags, tags], values: between }],
      ['weights', { shape: [hashes.length, tags], values: bytes }],
    ]);
    return encodeSafetensors(tensors, { features: FEATURES_VERSION }, { floats: 'F16' });
  }

  /** @param file named in errors. @throws ModelFolderError */
  static decode(bytes: Uint8Array, file: string): CrfExpert {
    const refused = (reason: string) => new ModelFolderError(file, reason);
    const { tensors, integers, metadata } = decodeSafetensors(bytes, file);
    if (metadata.features !== FEATURES_VERSION) {
      throw refused(`its features entry is ${metadata.features}; this version reads ${FEATURES_VERSION}`);
    }
    const hashes = integers.get('hashes')?.values;
    const weights = integers.get('weights')?.values;
    const scales = tensors.get('scales')?.values;
    const start = tensors.get('start')?.values;
    const between = tensors.get('between')?.values;
    if (!(hashes instanceof Int32Array && weights instanceof Int8Array && scales && start && between)) {
      throw refused('one of hashes (I32), weights (I8), scales, start, between is missing');
    }
    const features = hashes.length;
    const tags = start.length;
    if (between.length !== tags ** 2 || scales.length !== features || weights.length !== features * tags) {
      throw refused(`its scales, weights or between don't fit its ${features} hashes and ${tags} tags`);
    }
    if (tags === 0) throw refused('it has no tags');
    if (![scales, start, between].every(areModerate)) {
      throw refused('one of its scales, start or between is too large, or not a number');
    }
    const expert = new CrfExpert({ hashes, bytes: weights, scales }, { start, between });
    if (expert.#features.size !== features) throw refused('a hash occurs twice, or too many of them share a place');
    return expert;
  }
}

/**
 * The version of what is hashed; a change of the features in word-features.ts raises it.
 */
const FEATURES_VERSION = '1';

/** How many words the kernel sums at once; a text with more takes several calls. */
const WORDS_AT_ONCE = 64;
/** How many words of a long text are scored in a step. */
const WORDS_A_STEP = 16 * WORDS_AT_ONCE;

/** A hash, a scale in float16 and a byte for each tag. */
const bytesPerFeature = (tags: number): number => 6 + tags;

/** The ids of the `count` largest values above 0, ascending. */
function largestIds(values: Float32Array, count: number): Int32Array {
  const ids = Int32Array.from(values.keys()).filter((id) => (values[id] ?? 0) > 0);
  if (ids.length <= count) return ids;
  ids.sort((a, b) => (values[b] ?? 0) - (values[a] ?? 0) || a - b);
  return ids.slice(0, count).sort();
}
