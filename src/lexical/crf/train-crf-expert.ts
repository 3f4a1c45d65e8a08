import { withPauses } from '../../pauses.js';
import { Random } from '../../random.js';
import { chooseFeatures } from './choose-features.js';
import { CrfExpert } from './crf-expert.js';
import { crfMemory } from './crf-memory.js';
import { CrfTraining } from './crf-training.js';
import { collectBags } from './feature-bags.js';
import { MAX_FEATURES_A_WORD } from './feature-templates.js';
import { forEachSentence, type TaggedWords } from './for-each-sentence.js';
import { WordFeatureHasher } from './word-features.js';

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
/** At most this many numbers in the table of weights. */
const MAX_WEIGHTS = 2 ** 24;

/**
 * Trains a linear-chain conditional random field (Lafferty et al. 2001). The same arguments give
 * bit-identical weights.
 * @throws AbortedError soon after the signal fires.
 */
export async function trainCrfExpert(
  sentences: readonly TaggedWords[],
  options: CrfTrainingOptions,
): Promise<CrfExpert> {
  const { tags, seed, signal, regularization = 0.5, maxBytes = 8e6 } = options;
  const { passes = defaultPasses(sentences.length) } = options;
  const hasher = new WordFeatureHasher();
  const features = await chooseFeatures(sentences, hasher, Math.floor(MAX_WEIGHTS / tags), signal);
  const bags = await collectBags(sentences, hasher, features, signal);
  const memory = crfMemory(sentences, bags, features.size, tags);
  const random = Random.fromSeed(seed);
  const training = new CrfTraining(memory, tags, random);
  const placed = withFirstWords(sentences);
  for (let pass = 0; pass < passes; pass += 1) {
    await forEachSentence(random.shuffle(placed), signal, ({ firstWord, tags }) =>
      training.learn(firstWord, tags),
    );
    await withPauses(training.shrinking(regularization), signal);
  }
  const weights = { hashes: features.hashes(), weights: memory.arrays.table, width: memory.width };
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
