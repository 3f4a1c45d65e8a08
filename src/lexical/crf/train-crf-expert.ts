import { type AdaGradArrays, Arena, type IdBags, type Kernels, loadKernels } from '../../engine/index.js';
import { Random, type Steps, withPauses } from '../../system/index.js';
import { paddedOutputs } from '../expert-file.js';
import { HashTable, withRoom } from '../hash-table.js';
import { type CrfExpert, crfExpertOf } from './crf-expert.js';
import { TagLattice, type TagTransitions } from './tag-lattice.js';
import { MAX_FEATURES_A_WORD, WordFeatureHasher } from './word-features.js';

export interface CrfTrainingOptions {
  readonly tags: number;
  readonly seed: number;
  readonly signal: AbortSignal;
  /** Default: 8, or up to 40 if sentences are few. */
  readonly passes?: number;
  /** L2. Default 0.5. */
  readonly regularization?: number;
  /** Default 8 million: the features that matter least are left out. */
  readonly maxBytes?: number;
}

const MIN_PASSES = 8;
const MAX_PASSES = 40;
/** Over all passes. */
const STEPS = 30_000;
const MAX_WEIGHTS = 2 ** 24;

/** Lafferty et al. 2001. The same arguments give bit-identical weights. @throws AbortedError */
export async function trainCrfExpert(
  sentences: readonly TaggedWords[],
  options: CrfTrainingOptions,
): Promise<CrfExpert> {
  const { tags, seed, signal, regularization = 0.5, maxBytes = 8e6 } = options;
  const { passes = defaultPasses(sentences.length) } = options;
  const hasher = new WordFeatureHasher();
  const features = await withPauses(chooseFeatures(sentences, hasher, Math.floor(MAX_WEIGHTS / tags)), signal);
  const bags = await withPauses(collectBags(sentences, hasher, features), signal);
  const random = Random.fromSeed(seed);
  const training = new CrfTraining({ sentences, bags, features: features.size, tags, random });
  const placed = withFirstWords(sentences);
  for (let pass = 0; pass < passes; pass += 1) {
    await withPauses(training.pass(random.shuffle(placed)), signal);
    await withPauses(training.shrinking(regularization), signal);
  }
  const weights = { hashes: features.hashes(), weights: training.weights, width: training.width };
  return crfExpertOf(weights, training.transitions, maxBytes);
}

/** Its id, and its place in the table while features are chosen. */
const BYTES_A_FEATURE = 24;

/** A rough upper bound. */
export function crfExpertBytes(sentences: readonly TaggedWords[], tags: number): number {
  const words = sentences.reduce((sum, sentence) => sum + sentence.words.length, 0);
  const longest = sentences.reduce((most, sentence) => Math.max(most, sentence.words.length), 0);
  const features = words * MAX_FEATURES_A_WORD;
  // Weights and squared gradients; then a lattice of the longest sentence, forwards and backwards.
  const weights = Math.min(MAX_WEIGHTS, features * tags);
  return BYTES_A_FEATURE * features + 8 * weights + 8 * tags * (tags + 6 * longest);
}

function defaultPasses(sentences: number): number {
  return Math.min(MAX_PASSES, Math.max(MIN_PASSES, Math.ceil(STEPS / Math.max(1, sentences))));
}

/** Not empty. */
interface PlacedSentence extends TaggedWords {
  readonly firstWord: number;
}

function withFirstWords(sentences: readonly TaggedWords[]): PlacedSentence[] {
  let next = 0;
  const placed: PlacedSentence[] = [];
  for (const { words, tags } of sentences) {
    if (words.length > 0) placed.push({ words, tags, firstWord: next });
    next += words.length;
  }
  return placed;
}

/** Features of a single word say little and make up most of the table. */
const MIN_WORDS = 2;

function* chooseFeatures(
  sentences: readonly TaggedWords[],
  hasher: WordFeatureHasher,
  maxFeatures: number,
): Steps<HashTable> {
  const table = new HashTable(1 << 16);
  let counts = new Int32Array(1 << 16);
  for (const { words } of sentences) {
    yield;
    const { hashes, starts } = hasher.hash(words);
    const end = starts.at(-1) ?? 0;
    for (let at = 0; at < end; at += 1) {
      const id = table.add(hashes[at] ?? 0);
      counts = withRoom(counts, id + 1);
      counts[id] = (counts[id] ?? 0) + 1;
    }
  }
  const least = Math.max(MIN_WORDS, leastCount(counts.subarray(0, table.size), maxFeatures));
  return HashTable.of(table.hashes().filter((_, id) => (counts[id] ?? 0) >= least));
}

/** The lowest count that at most `limit` features reach. */
function leastCount(counts: Int32Array, limit: number): number {
  if (counts.length <= limit) return 0;
  const featuresOf = new Int32Array(1 + counts.reduce((most, count) => Math.max(most, count), 0));
  for (const count of counts) featuresOf[count] = (featuresOf[count] ?? 0) + 1;
  let least = featuresOf.length;
  for (let kept = 0; least > 0; least -= 1) {
    kept += featuresOf[least - 1] ?? 0;
    if (kept > limit) break;
  }
  return least;
}

function* collectBags(
  sentences: readonly TaggedWords[],
  hasher: WordFeatureHasher,
  features: HashTable,
): Steps<IdBags> {
  const starts = new Int32Array(sentences.reduce((sum, { words }) => sum + words.length, 0) + 1);
  let ids = new Int32Array(1 << 16);
  let word = 0;
  let end = 0;
  for (const { words } of sentences) {
    yield;
    const hashed = hasher.hash(words);
    ids = withRoom(ids, end + (hashed.starts.at(-1) ?? 0));
    let at = 0;
    for (const stop of hashed.starts.subarray(1)) {
      for (; at < stop; at += 1) {
        const id = features.find(hashed.hashes[at] ?? 0);
        if (id < 0) continue;
        ids[end] = id;
        end += 1;
      }
      word += 1;
      starts[word] = end;
    }
  }
  return { ids: ids.subarray(0, end), starts };
}

const COINS = 32;

/** Leaves out each id with probability ½. @param kept needs room for all. @returns views of `kept`. */
function dropHalf({ ids, starts }: IdBags, kept: IdBags, random: Random): IdBags {
  let coins = 0;
  let unused = 0;
  let end = 0;
  let at = starts[0] ?? 0;
  kept.starts[0] = 0;
  for (let bag = 1; bag < starts.length; bag += 1) {
    const stop = starts[bag] ?? 0;
    for (; at < stop; at += 1) {
      if (unused === 0) {
        coins = random.integer(2 ** COINS);
        unused = COINS;
      }
      if (coins & 1) {
        kept.ids[end] = ids[at] ?? 0;
        end += 1;
      }
      coins >>>= 1;
      unused -= 1;
    }
    kept.starts[bag] = end;
  }
  return { ids: kept.ids, starts: kept.starts.subarray(0, starts.length) };
}

export interface TaggedWords {
  readonly words: readonly string[];
  readonly tags: readonly number[];
}

/** Below 1, so that rare features learn in a few steps; not 0, which would make every first step equally large. */
const FIRST_SQUARE = 0.1;

const RATE = 0.2;
/** Most words are certain after a pass or two. */
const IGNORED_GRADIENT = 1e-3;

const WEIGHTS_A_STEP = 2 ** 16;

interface CrfTrainingInput {
  readonly sentences: readonly TaggedWords[];
  readonly bags: IdBags;
  readonly features: number;
  readonly tags: number;
  readonly random: Random;
}

/** AdaGrad (Duchi et al. 2011), a step per sentence; features drop out half of the time (Sutton et al. 2006). */
class CrfTraining {
  readonly transitions: TagTransitions;
  /** Tags padded to whole vectors. */
  readonly width: number;
  readonly #start: AdaGradArrays;
  readonly #between: AdaGradArrays;
  readonly #bags: IdBags;
  readonly #keptBags: IdBags;
  /** Weights and squares [features, width]; gradients [words, width] of the longest sentence. */
  readonly #arrays: AdaGradArrays;
  readonly #kernels: Kernels;
  readonly #tags: number;
  readonly #random: Random;

  constructor({ sentences, bags, features, tags, random }: CrfTrainingInput) {
    this.#tags = tags;
    this.#random = random;
    this.width = paddedOutputs(tags);
    const longest = sentences.reduce((most, { words }) => Math.max(most, words.length), 0);
    const kept = longest * MAX_FEATURES_A_WORD;
    const table = features * this.width;
    const gradients = longest * this.width;
    const sizes = [bags.ids.length, bags.starts.length, kept, longest + 1, table, table, gradients];
    const arena = new Arena(Arena.bytesFor(sizes));
    this.#bags = { ids: arena.int32(bags.ids.length), starts: arena.int32(bags.starts.length) };
    this.#bags.ids.set(bags.ids);
    this.#bags.starts.set(bags.starts);
    this.#keptBags = { ids: arena.int32(kept), starts: arena.int32(longest + 1) };
    this.#arrays = {
      table: arena.float32(table),
      squares: arena.float32(table).fill(FIRST_SQUARE),
      gradients: arena.float32(gradients),
    };
    this.#kernels = loadKernels(arena);
    this.#start = zeroArrays(tags);
    this.#between = zeroArrays(tags * tags);
    this.transitions = { start: this.#start.table, between: this.#between.table };
  }

  get weights(): Float32Array {
    return this.#arrays.table;
  }

  *pass(sentences: readonly PlacedSentence[]): Steps<void> {
    for (const { firstWord, tags } of sentences) {
      yield;
      this.#learn(firstWord, tags);
    }
  }

  /** @param tags one for each word of the sentence, and at least one. */
  #learn(firstWord: number, tags: readonly number[]): void {
    const arrays = this.#arrays;
    const starts = this.#bags.starts.subarray(firstWord, firstWord + tags.length + 1);
    const kept = dropHalf({ ids: this.#bags.ids, starts }, this.#keptBags, this.#random);
    const scores = arrays.gradients.subarray(0, tags.length * this.width);
    this.#kernels.sumRows(arrays.table, kept, scores);
    const loss = sentenceLoss(this.#unpadded(scores), this.transitions, tags);
    this.#pad(loss.emissions, scores);
    this.#kernels.adaGradRows({ ...arrays, gradients: scores }, kept, {
      rate: RATE,
      ignored: IGNORED_GRADIENT,
    });
    step(this.#start, loss.transitions.start);
    step(this.#between, loss.transitions.between);
  }

  /** The proximal step of `strength` / 2 · Σ weight², each weight at its own rate. */
  *shrinking(strength: number): Steps<void> {
    for (const { table, squares } of [this.#arrays, this.#start, this.#between]) {
      for (let at = 0; at < table.length; at += 1) {
        if (at % WEIGHTS_A_STEP === 0) yield;
        table[at] = (table[at] ?? 0) / (1 + (RATE * strength) / Math.sqrt(squares[at] ?? 1));
      }
    }
  }

  /** [words, width] as [words, tags]. */
  #unpadded(scores: Float32Array): Float32Array {
    const tags = this.#tags;
    const { width } = this;
    const emissions = new Float32Array((scores.length / width) * tags);
    for (let from = 0, to = 0; to < emissions.length; from += width, to += tags) {
      emissions.set(scores.subarray(from, from + tags), to);
    }
    return emissions;
  }

  /** [words, tags] as [words, width], with zeros. */
  #pad(gradients: Float32Array, padded: Float32Array): void {
    const tags = this.#tags;
    padded.fill(0);
    for (let from = 0, to = 0; from < gradients.length; from += tags, to += this.width) {
      padded.set(gradients.subarray(from, from + tags), to);
    }
  }
}

function zeroArrays(length: number): AdaGradArrays {
  return {
    table: new Float32Array(length),
    squares: new Float32Array(length).fill(FIRST_SQUARE),
    gradients: new Float32Array(0),
  };
}

function step({ table, squares }: AdaGradArrays, gradients: Float32Array): void {
  for (const [at, gradient] of gradients.entries()) {
    const square = (squares[at] ?? 0) + gradient * gradient;
    squares[at] = square;
    table[at] = (table[at] ?? 0) - (RATE * gradient) / Math.sqrt(square);
  }
}

interface SentenceLoss {
  /** In nats. */
  readonly loss: number;
  /** The derivatives by the emissions [words, tags] and by the transitions. */
  readonly emissions: Float32Array;
  readonly transitions: TagTransitions;
}

/** Lafferty et al. 2001; Sha & Pereira 2003, eq. 3. @param emissions [words, tags] @param tags at least one. */
export function sentenceLoss(
  emissions: Float32Array,
  transitions: TagTransitions,
  tags: readonly number[],
): SentenceLoss {
  const count = transitions.start.length;
  const lattice = new TagLattice(emissions, transitions);
  const byEmissions = lattice.marginals();
  const byStart = byEmissions.slice(0, count);
  const byBetween = Float32Array.from(lattice.expectedTransitions());
  let score = 0;
  for (const [word, tag] of tags.entries()) {
    const emission = word * count + tag;
    score += emissions[emission] ?? 0;
    byEmissions[emission] = (byEmissions[emission] ?? 0) - 1;
    const previous = tags[word - 1];
    const [scores, derivatives, at] =
      previous === undefined
        ? [transitions.start, byStart, tag]
        : [transitions.between, byBetween, previous * count + tag];
    score += scores[at] ?? 0;
    derivatives[at] = (derivatives[at] ?? 0) - 1;
  }
  return {
    loss: lattice.logPartition - score,
    emissions: byEmissions,
    transitions: { start: byStart, between: byBetween },
  };
}
