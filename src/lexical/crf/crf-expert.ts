import { ModelFolderError } from '../../contract/index.js';
import type { IdBags } from '../../engine/index.js';
import { roundedToFloat16 } from '../../models/index.js';
import { runToEnd } from '../../system/index.js';
import {
  ByteTable,
  type ByteWeights,
  decodeWeights,
  ExpertMemory,
  encodeWeights,
  moderateFloats,
  quantizeWeights,
  readExpertFile,
} from '../expert-file.js';
import { HashTable, hashTableCounts, largestIds } from '../hash-table.js';
import type { TagTransitions } from './tag-lattice.js';
import { type HashedFeatures, MAX_FEATURES_A_WORD, MAX_KEPT_WORDS, WordFeatureHasher } from './word-features.js';

interface FeatureWeights {
  /** [features] */
  readonly hashes: Int32Array;
  /** [features, width]; columns from the number of tags on are left out. */
  readonly weights: Float32Array;
  readonly width: number;
}

/** A linear-chain CRF; its weights are bytes, in memory as in the file. */
export class CrfExpert {
  readonly #hasher = new WordFeatureHasher();
  readonly #memory: ExpertMemory;
  readonly #index: HashTable;
  readonly #given: Int32Array;
  readonly #table: ByteTable;
  /** The features of some words to add up next. */
  readonly #bags: IdBags;
  readonly #values: Float32Array;

  constructor(
    stored: ByteWeights,
    readonly transitions: TagTransitions,
  ) {
    const { hashes } = stored;
    const memory = new ExpertMemory([
      ...hashTableCounts(hashes.length),
      ...ByteTable.counts(hashes.length, this.tags, WORDS_AT_ONCE),
      ...[FEATURES_AT_ONCE, FEATURES_AT_ONCE, FEATURES_AT_ONCE, WORDS_AT_ONCE + 1],
    ]);
    const { arena } = memory;
    this.#memory = memory;
    this.#index = HashTable.of(hashes, arena, memory.kernels);
    this.#given = arena.int32(FEATURES_AT_ONCE);
    this.#bags = { ids: arena.int32(FEATURES_AT_ONCE), starts: arena.int32(WORDS_AT_ONCE + 1) };
    this.#values = arena.float32(FEATURES_AT_ONCE);
    this.#table = new ByteTable(memory, stored, this.tags, { bags: this.#bags, values: this.#values });
  }

  get tags(): number {
    return this.transitions.start.length;
  }

  /** [words, tags] */
  emissions(words: readonly string[]): Float32Array {
    return runToEnd(this.emissionsInSteps(words));
  }

  /** Takes steps of some milliseconds. [words, tags] */
  *emissionsInSteps(words: readonly string[]): Generator<undefined, Float32Array> {
    const { tags } = this;
    const emissions = new Float32Array(words.length * tags);
    const traits = yield* this.#hasher.read(words);
    const { width } = this.#table;
    for (let first = 0; first < words.length; first += WORDS_AT_ONCE) {
      const count = Math.min(WORDS_AT_ONCE, words.length - first);
      this.#fillBags(this.#hasher.hashesOf(traits, first, count), count);
      const sums = this.#table.sum(count);
      for (let word = 0; word < count; word += 1) {
        for (let tag = 0; tag < tags; tag += 1) {
          emissions[(first + word) * tags + tag] = sums[word * width + tag] ?? 0;
        }
      }
      if (words.length > MAX_KEPT_WORDS && first % WORDS_A_STEP === 0) yield;
    }
    return emissions;
  }

  #fillBags({ hashes, starts }: HashedFeatures, count: number): void {
    const bags = this.#bags;
    this.#given.set(hashes.subarray(0, starts[count]));
    bags.starts.set(starts);
    this.#memory.kernels.findBags(this.#index.slots, this.#given, bags, count);
    this.#values.fill(1, 0, bags.starts[count]);
  }

  /** What {@link encodeCrfExpert} writes. */
  get parts() {
    return { hashes: this.#index.hashes(), table: this.#table };
  }

  /** @param file named in errors. @throws ModelFolderError */
  static decode(bytes: Uint8Array, file: string): CrfExpert {
    const refused = (reason: string) => new ModelFolderError(file, reason);
    const content = readExpertFile(bytes, file);
    const version = content.metadata.features;
    if (version !== FEATURES_VERSION) {
      throw refused(`its features entry is ${version}; this version reads ${FEATURES_VERSION}`);
    }
    const { weights, perOutput: start, other } = decodeWeights(content, 'start', 'between', file);
    if (start.length === 0) throw refused('it has no tags');
    const between = moderateFloats(other, 'between', file);
    if (between.length !== start.length ** 2) throw refused(`its between doesn't fit its ${start.length} tags`);
    const expert = new CrfExpert(weights, { start, between });
    expert.#memory.requireSound(expert.#index, weights.hashes, file);
    return expert;
  }
}

/** @param maxBytes rough limit of the file: features whose largest weight is smallest are left out. */
export function crfExpertOf(features: FeatureWeights, transitions: TagTransitions, maxBytes: number): CrfExpert {
  const { hashes, weights, width } = features;
  const tags = transitions.start.length;
  const largest = Float32Array.from(hashes, (_, id) =>
    weights.subarray(id * width, id * width + tags).reduce((most, weight) => Math.max(most, Math.abs(weight)), 0),
  );
  const kept = largestIds(largest, Math.floor(maxBytes / bytesPerFeature(tags)));
  const { start, between } = transitions;
  return new CrfExpert(quantizeWeights(hashes, { weights, stride: width, outputs: tags }, kept), {
    start: roundedToFloat16(start),
    between: roundedToFloat16(between),
  });
}

export function encodeCrfExpert(expert: CrfExpert): Uint8Array {
  const { tags, transitions, parts } = expert;
  const { scales, bytes } = parts.table;
  const others = {
    scales: { shape: [scales.length], values: scales },
    start: { shape: [tags], values: transitions.start },
    between: { shape: [tags, tags], values: transitions.between },
  };
  return encodeWeights({ hashes: parts.hashes, bytes }, others, { features: FEATURES_VERSION });
}

/** Raise it when the features in word-features.ts change. */
const FEATURES_VERSION = '1';

/** A text with more words takes several calls of the kernel. */
const WORDS_AT_ONCE = 64;
const FEATURES_AT_ONCE = WORDS_AT_ONCE * MAX_FEATURES_A_WORD;
const WORDS_A_STEP = 16 * WORDS_AT_ONCE;

/** A hash, a scale in float16 and a byte for each tag. */
const bytesPerFeature = (tags: number): number => 6 + tags;
