import { type AdaGradArrays, Arena, type IdBags, type Kernels, loadKernels } from '../../engine/index.js';
import { Random, type Steps, withPauses } from '../../system/index.js';
import { paddedOutputs } from '../expert-file.js';
import { HashTable, withRoom } from '../hash-table.js';
import { CrfExpert } from './crf-expert.js';
import { TagLattice, type TagTransitions } from './tag-lattice.js';
import { MAX_FEATURES_A_WORD, WordFeatureHasher } from './word-features.js';

export interface CrfTrainingOptions {
  /** How many tags there are; their ids are below this number. */
  readonly tags: number;
  /** 32-bit integer: decides the order of the sentences and which features are left out when. */
  readonly seed: number;
  readonly signal: AbortSignal;
  /** Passes over the sentences. Default: 8, or up to 40 if sentences are few. */
  readonly passes?: number;
  /** Strength of the L2 regularisation. Default 0.5. */
  readonly regularization?: number;
  /** Rough limit of the file in bytes: the features that matter least are left out. Default 8 million. */
  readonly maxBytes?: number;
}

const MIN_PASSES = 8;
const MAX_PASSES = 40;
/** How many sentences to learn from over all passes, as far as the limits of passes allow. */
const STEPS = 30_000;
const MAX_WEIGHTS = 2 ** 24;

/**
 * Trains a linear-chain conditional random field (Lafferty et al. 2001). The same arguments give bit-identical weights.
 * @throws AbortedError soon after the signal fires.
 */
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
  return CrfExpert.fromWeights(weights, training.transitions, maxBytes);
}

/** Bytes for each feature of each word: its id, and its place in the table while features are chosen. */
const BYTES_A_FEATURE = 24;

/** Bytes of memory that {@link trainCrfExpert} takes at most, roughly. */
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

/** A sentence that isn't empty, and where its words start among those of all sentences. */
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

/** How many words must have a feature: those of a single word say little and make up most of the table. */
const MIN_WORDS = 2;

/** The features that the most words have, numbered; at most `maxFeatures`. */
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

/** The feature ids of every word, in the order of the sentences: one bag per word. */
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

/**
 * Leaves out each id with probability ½.
 * @param kept where the others go; its ids and starts must have room for all.
 * @returns views of `kept`.
 */
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

/** Words and the tag id of each. */
export interface TaggedWords {
  readonly words: readonly string[];
  readonly tags: readonly number[];
}

/**
 * The initial value of every sum of squared gradients: below 1, so that rare features learn in a few steps,
 * and not 0, with which every first step would be equally large, whatever its gradient.
 */
const FIRST_SQUARE = 0.1;

const RATE = 0.2;
/** Gradients of emissions below this (of 1 at most) are ignored: most words are certain after a pass or two. */
const IGNORED_GRADIENT = 1e-3;

const WEIGHTS_A_STEP = 2 ** 16;

interface CrfTrainingInput {
  readonly sentences: readonly TaggedWords[];
  /** One bag for each of their words. */
  readonly bags: IdBags;
  readonly features: number;
  readonly tags: number;
  readonly random: Random;
}

/**
 * Trains the weights with AdaGrad (Duchi et al. 2011), one step per sentence, on the negative log-likelihood. Each
 * feature is left out half of the time, so that affixes and context learn to do without the word itself (Sutton et al.
 * 2006, "Reducing weight undertraining in structured discriminative learning"). After each pass the weights are shrunk.
 */
class CrfTraining {
  readonly transitions: TagTransitions;
  /** Tags padded to whole vectors: the columns of all tables. */
  readonly width: number;
  readonly #start: AdaGradArrays;
  readonly #between: AdaGradArrays;
  /** One bag of feature ids for each word of each sentence. */
  readonly #bags: IdBags;
  /** Room for the bags of the longest sentence. */
  readonly #keptBags: IdBags;
  /** Weights and squares [features, width]; gradients [words, width] have room for the longest sentence. */
  readonly #arrays: AdaGradArrays;
  readonly #kernels: Kernels;
  readonly #tags: number;
  readonly #random: Random;

  /** Puts features and weights into one arena, with the kernels over it. */
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

  /** Of the features. [features, width] */
  get weights(): Float32Array {
    return this.#arrays.table;
  }

  *pass(sentences: readonly PlacedSentence[]): Steps<void> {
    for (const { firstWord, tags } of sentences) {
      yield;
      this.#learn(firstWord, tags);
    }
  }

  /**
   * Takes a step on one sentence.
   * @param firstWord where its words start among the bags.
   * @param tags one for each of its words, and at least one.
   */
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

  /** Pulls all weights towards 0: the proximal step of `strength` / 2 · Σ weight², each weight at its own rate. */
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

/** The same step as the kernel's, for arrays outside the arena. */
function step({ table, squares }: AdaGradArrays, gradients: Float32Array): void {
  for (const [at, gradient] of gradients.entries()) {
    const square = (squares[at] ?? 0) + gradient * gradient;
    squares[at] = square;
    table[at] = (table[at] ?? 0) - (RATE * gradient) / Math.sqrt(square);
  }
}

interface SentenceLoss {
  /** −ln of the probability of the tags, in nats. */
  readonly loss: number;
  /** The derivatives by the emissions [words, tags] and by the transitions. */
  readonly emissions: Float32Array;
  readonly transitions: TagTransitions;
}

/**
 * Negative conditional log-likelihood and its gradient, which is the expected minus the observed counts
 * (Lafferty et al. 2001; Sha & Pereira 2003, eq. 3).
 * @param emissions [words, tags]
 * @param tags one for each word, and at least one.
 */
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
