import { setImmediate as nextTurn } from 'node:timers/promises';
import { AbortedError } from '../errors.js';
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
 * Trains a one-vs-rest linear SVM over n-grams. The same arguments give bit-identical weights. Blocks its
 * thread for a pass at a time, up to a second on large sets.
 * @param active for each text, the outputs that should be on.
 * @throws AbortedError soon after the signal fires.
 */
export async function trainLinearExpert(
  texts: readonly string[],
  active: readonly (readonly number[])[],
  { outputs, lowercase, seed, classWeights = [], signal }: LinearExpertOptions,
): Promise<LinearExpert> {
  const byFrequency = TfIdf.fit(texts, chooseNGrams(texts, lowercase), featureLimit(outputs));
  const tfIdf = byFrequency.withWeights(termWeights(byFrequency, texts, active, outputs));
  const { problem, order, kernels } = svmMemory(tfIdf, { texts, active, outputs, classWeights });
  const random = Random.fromSeed(seed);
  for (let pass = 0; pass < MAX_PASSES; pass += 1) {
    await nextTurn();
    if (signal?.aborted) throw new AbortedError('the lexical expert');
    shuffleInPlace(order, random);
    if (kernels.svmPass(problem, order) < TOLERANCE) break;
  }
  return LinearExpert.fromWeights(tfIdf, problem.weights, outputs, paddedOutputs(outputs));
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
