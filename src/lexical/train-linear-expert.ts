import type { Kernels, SvmProblem } from '../kernels/index.js';
import { pause, withPauses } from '../pauses.js';
import { Random } from '../random.js';
import { isUnspaced } from './character-kinds.js';
import { LinearExpert } from './linear-expert.js';
import type { NGramOptions } from './n-grams.js';
import { paddedOutputs } from './padded-rows.js';
import { type ClassWeights, svmMemory } from './svm-problem.js';
import { termWeights } from './term-weights.js';
import { TfIdf } from './tf-idf.js';

export interface LinearExpertOptions {
  readonly outputs: number;
  readonly lowercase: boolean;
  /** 32-bit integer: decides the order in which rows are visited. */
  readonly seed: number;
  /** For each output. Default: 1 for all rows. */
  readonly classWeights?: readonly ClassWeights[];
  readonly signal?: AbortSignal;
}

/**
 * Texts longer than this on average, in UTF-16 code units, have enough words to do without characters
 * (docs/lexical.md).
 */
const LONG_TEXT = 500;
/** Bytes that the weights may take, and the bounds of the number of features. */
const MAX_WEIGHTS = 2 ** 22;
const MIN_FEATURE_LIMIT = 2 ** 16;
const MAX_FEATURE_LIMIT = 2 ** 18;

/** At most this many passes over the rows. */
const MAX_PASSES = 60;
/**
 * The largest violation of the optimality conditions that counts as solved; LIBLINEAR's default for this
 * solver.
 */
const TOLERANCE = 0.1;

/**
 * Trains a one-vs-rest linear SVM over n-grams. The same arguments give bit-identical weights.
 * @param active for each text, the outputs that should be on.
 * @throws AbortedError soon after the signal fires.
 */
export async function trainLinearExpert(
  texts: readonly string[],
  active: readonly (readonly number[])[],
  { outputs, lowercase, seed, classWeights = [], signal }: LinearExpertOptions,
): Promise<LinearExpert> {
  const nGrams = chooseNGrams(texts, lowercase);
  const byFrequency = await withPauses(TfIdf.fitting(texts, nGrams, featureLimit(outputs)), signal);
  const weights = await withPauses(termWeights(byFrequency, texts, active, outputs), signal);
  const tfIdf = byFrequency.withWeights(weights);
  const rows = { texts, active, outputs, classWeights };
  const { problem, order, kernels } = await withPauses(svmMemory(tfIdf, rows), signal);
  const random = Random.fromSeed(seed);
  for (let pass = 0; pass < MAX_PASSES; pass += 1) {
    shuffleInPlace(order, random);
    if ((await pacedPass(kernels, problem, order, signal)) < TOLERANCE) break;
  }
  return LinearExpert.fromWeights(tfIdf, problem.weights, outputs, paddedOutputs(outputs));
}

/** Multiplications between two pauses, which take a few milliseconds. */
const WORK_A_TURN = 2 ** 22;

/** One pass over the rows, a part at a time. @returns the largest violation. */
async function pacedPass(
  kernels: Kernels,
  problem: SvmProblem,
  order: Int32Array,
  signal: AbortSignal | undefined,
): Promise<number> {
  const workOfRow = (problem.outputs * problem.ids.length) / Math.max(1, order.length);
  const rows = Math.max(1, Math.floor(WORK_A_TURN / Math.max(1, workOfRow)));
  let violation = 0;
  for (let first = 0; first < order.length; first += rows) {
    await pause(signal);
    violation = Math.max(violation, kernels.svmPass(problem, order.subarray(first, first + rows)));
  }
  return violation;
}

/** N-grams of each character of a text, at most: four of characters, and up to three of words. */
const NGRAMS_A_CHARACTER = 6;
/** Bytes for each feature and output: counts, weights, and twice as the bytes of the expert. */
const BYTES_A_WEIGHT = 4 + 4 + 2;
/** Bytes for each n-gram of each row (its id and value), and for each that is counted before features are chosen. */
const BYTES_AN_NGRAM = 16;

/** Bytes of memory that {@link trainLinearExpert} takes at most, roughly. */
export function linearExpertBytes(rows: readonly { readonly text: string }[], outputs: number): number {
  const characters = rows.reduce((sum, { text }) => sum + text.length, 0);
  const nGrams = NGRAMS_A_CHARACTER * characters;
  const features = Math.min(featureLimit(outputs), nGrams);
  const ofRows = rows.length * (16 + 4 * paddedOutputs(outputs));
  return BYTES_A_WEIGHT * features * outputs + BYTES_AN_NGRAM * nGrams + ofRows;
}

function chooseNGrams(texts: readonly string[], lowercase: boolean): NGramOptions {
  if (isUnspaced(texts)) return { lowercase, words: false, characters: { shortest: 1, longest: 4 } };
  const length = texts.reduce((sum, text) => sum + text.length, 0) / Math.max(1, texts.length);
  return length > LONG_TEXT
    ? { lowercase, words: true, triples: true, characters: null }
    : { lowercase, words: true, characters: { shortest: 2, longest: 5 } };
}

/** The largest number of features: fewer if each has many weights, so that the file stays small. */
function featureLimit(outputs: number): number {
  return Math.min(MAX_FEATURE_LIMIT, Math.max(MIN_FEATURE_LIMIT, Math.floor(MAX_WEIGHTS / outputs)));
}

function shuffleInPlace(order: Int32Array, random: Random): void {
  for (let last = order.length - 1; last > 0; last -= 1) {
    const other = random.integer(last + 1);
    const kept = order[last] ?? 0;
    order[last] = order[other] ?? 0;
    order[other] = kept;
  }
}
