import { TagLattice, type TagTransitions } from '../../lexical/index.js';
import { mapSteps, type Steps } from '../../system/index.js';
import { OUTSIDE } from './bio-tags.js';

/** What the two experts say about one sentence, [words, tags] each. */
export interface TagEvidence {
  readonly encoder: Float32Array;
  readonly expert: Float32Array;
}

export interface TagWeights {
  readonly encoder: number;
  readonly expert: number;
  /** Added to the score of each tag. */
  readonly bias: readonly number[];
}

/** encoder · w₁ + expert · w₂ + bias. [words, tags] */
export function blendEmissions({ encoder, expert }: TagEvidence, weights: TagWeights): Float32Array {
  const { bias } = weights;
  const emissions = new Float32Array(encoder.length);
  let tag = 0;
  for (let at = 0; at < emissions.length; at += 1) {
    emissions[at] = weights.encoder * (encoder[at] ?? 0) + weights.expert * (expert[at] ?? 0) + (bias[tag] ?? 0);
    tag = tag + 1 < bias.length ? tag + 1 : 0;
  }
  return emissions;
}

/** The CRF's transitions times `weight`, or −Infinity where the constraints (0 or −Infinity) forbid one. */
export function blendTransitions(constraints: TagTransitions, expert: TagTransitions, weight: number): TagTransitions {
  // 0 · −Infinity would be NaN, but never occurs: what the CRF forbids, the constraints forbid too.
  const mix = (allowed: Float32Array, scores: Float32Array) =>
    allowed.map((value, at) => (value === 0 ? weight * (scores[at] ?? 0) : value));
  return { start: mix(constraints.start, expert.start), between: mix(constraints.between, expert.between) };
}

export interface TagBlendRows {
  readonly constraints: TagTransitions;
  readonly sentences: readonly JudgedSentence[];
}

export interface JudgedSentence extends TagEvidence {
  /** Those of the CRF that says `expert`: in folds, each has its own. */
  readonly transitions: TagTransitions;
  readonly tags: readonly number[];
}

export type TagShares = Omit<TagWeights, 'bias'>;

const MAX_SENTENCES = 1000;
/** The pull towards factors of 1, in sentences of evidence. */
const PRIOR_SENTENCES = 5;
const FIRST_STEP = 0.5;
const LAST_STEP = 0.02;

/**
 * The weights under which the tags are most likely as paths: a sum of the shares, each times a factor of at least 0.
 * The loss is convex; the search changes one factor at a time, and halves its step when no change is an improvement.
 */
export function* fitTagWeights(rows: TagBlendRows, shares: readonly TagShares[]): Steps<TagWeights> {
  const some = { ...rows, sentences: rows.sentences.slice(0, MAX_SENTENCES) };
  const weightsOf = (factors: readonly number[]): TagWeights => ({
    encoder: factors.reduce((sum, factor, at) => sum + factor * (shares[at]?.encoder ?? 0), 0),
    expert: factors.reduce((sum, factor, at) => sum + factor * (shares[at]?.expert ?? 0), 0),
    bias: [],
  });
  const lossOf = function* (factors: readonly number[]): Steps<number> {
    const pull = factors.reduce((sum, factor) => sum + (factor - 1) ** 2, 0);
    const misfit = yield* negativeLogLikelihood(some, weightsOf(factors));
    return misfit + (PRIOR_SENTENCES / 2) * pull;
  };
  let best: readonly number[] = shares.map(() => 1);
  let loss = yield* lossOf(best);
  for (let step = FIRST_STEP; step >= LAST_STEP; ) {
    const around = best.flatMap((factor, at) =>
      [factor + step, factor - step].map((moved) => best.with(at, Math.max(0, moved))),
    );
    const found: { readonly factors: readonly number[]; readonly loss: number }[] = [];
    for (const factors of around) found.push({ factors, loss: yield* lossOf(factors) });
    const [lowest] = found.sort((one, other) => one.loss - other.loss);
    if (lowest !== undefined && lowest.loss < loss) {
      best = lowest.factors;
      loss = lowest.loss;
    } else step /= 2;
  }
  return weightsOf(best);
}

function* negativeLogLikelihood(rows: TagBlendRows, weights: TagWeights): Steps<number> {
  let sum = 0;
  for (const loss of yield* sentenceLosses(rows, weights)) sum += loss;
  return sum;
}

/** In nats: how unlikely the tags of each sentence are, as a path. [sentences] */
export function* sentenceLosses({ constraints, sentences }: TagBlendRows, weights: TagWeights): Steps<number[]> {
  const blended = onceForEach((transitions: TagTransitions) =>
    blendTransitions(constraints, transitions, weights.expert),
  );
  return yield* mapSteps(sentences, (sentence) => {
    const mixed = blended(sentence.transitions);
    const emissions = blendEmissions(sentence, weights);
    return new TagLattice(emissions, mixed).logPartition - pathScore(emissions, mixed, sentence.tags);
  });
}

/** A function that remembers what it made of each object. */
export function onceForEach<Key extends object, Made>(make: (key: Key) => Made): (key: Key) => Made {
  const known = new Map<Key, Made>();
  return (key) => {
    const made = known.get(key) ?? make(key);
    known.set(key, made);
    return made;
  };
}

function pathScore(emissions: Float32Array, { start, between }: TagTransitions, tags: readonly number[]): number {
  let score = 0;
  let previous: number | undefined;
  for (const [word, tag] of tags.entries()) {
    score += emissions[word * start.length + tag] ?? 0;
    score += (previous === undefined ? start[tag] : between[previous * start.length + tag]) ?? 0;
    previous = tag;
  }
  return score;
}

/** How far the score of O is lowered: coarse steps are tried first, then finer ones around the best. */
const COARSE = [-1, 0, 1, 2, 3, 4, 6];
const FINE = [-0.5, -0.25, 0.25, 0.5];

/**
 * Moves the score of O to where the F1 is best: the likeliest tags leave out too many entities of rare types for that
 * (Lipton et al. 2014, "Optimal Thresholding of Classifiers to Maximize F1 Measure"). Among equals the first one tried
 * wins.
 */
export function* fitOutsideBias(
  weights: TagWeights,
  tags: readonly string[],
  f1Of: (weights: TagWeights) => Steps<number>,
): Steps<TagWeights> {
  const lowered = (by: number): TagWeights => ({
    ...weights,
    bias: tags.map((tag) => (tag === OUTSIDE && by !== 0 ? -by : 0)),
  });
  const bestOf = function* (all: readonly number[]): Steps<number> {
    const judged: { readonly by: number; readonly f1: number }[] = [];
    for (const by of all) judged.push({ by, f1: yield* f1Of(lowered(by)) });
    return judged.reduce((best, each) => (each.f1 > best.f1 ? each : best)).by;
  };
  const coarse = yield* bestOf(COARSE.toSorted((a, b) => Math.abs(a) - Math.abs(b)));
  return lowered(yield* bestOf([coarse, ...FINE.map((step) => coarse + step)]));
}
