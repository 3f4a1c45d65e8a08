import { TagLattice, type TagTransitions } from '../../lexical/index.js';

/** What the two experts say of one sentence, [words, tags] each; and, where it is known, what is right. */
export interface TagEvidence {
  /** Log-probabilities. */
  readonly encoder: Float32Array;
  /** Scores of the CRF's features. */
  readonly expert: Float32Array;
}

export interface TagWeights {
  readonly encoder: number;
  readonly expert: number;
  /** Added to the score of each tag. */
  readonly bias: readonly number[];
}

/** encoder · w₁ + expert · w₂ + bias. [words, tags] */
export function blendEmissions(
  { encoder, expert }: TagEvidence,
  { bias, ...weights }: TagWeights,
): Float32Array {
  return encoder.map(
    (value, at) =>
      weights.encoder * value +
      weights.expert * (expert[at] ?? 0) +
      (bias[at % Math.max(1, bias.length)] ?? 0),
  );
}

/** The CRF's transitions · w, under the constraints, which are 0 or −Infinity. */
export function blendTransitions(
  constraints: TagTransitions,
  expert: TagTransitions,
  weight: number,
): TagTransitions {
  // 0 · −Infinity is no number: what the CRF forbids, the constraints forbid too.
  const mix = (allowed: Float32Array, scores: Float32Array) =>
    allowed.map((value, at) => (value === 0 ? weight * (scores[at] ?? 0) : value));
  return {
    start: mix(constraints.start, expert.start),
    between: mix(constraints.between, expert.between),
  };
}

export interface TagBlendRows {
  readonly constraints: TagTransitions;
  readonly transitions: TagTransitions;
  readonly sentences: readonly (TagEvidence & { readonly tags: readonly number[] })[];
}

/** Sentences that the weights are fitted to, at most. */
const MAX_SENTENCES = 2000;
/** The pull towards weights of 1, in sentences of evidence. */
const PRIOR_SENTENCES = 5;
const FIRST_STEP = 0.5;
const LAST_STEP = 0.01;

/**
 * The weights (none below 0) under which the tags of the dev sentences are most likely as paths through the lattice.
 * The loss is convex in the two; it is searched along the axes with steps that halve.
 * @param fitted the weights to choose; the other is 0.
 */
export function fitTagWeights(rows: TagBlendRows, fitted: readonly ('encoder' | 'expert')[]): TagWeights {
  const some = { ...rows, sentences: rows.sentences.slice(0, MAX_SENTENCES) };
  let weights: TagWeights = {
    encoder: fitted.includes('encoder') ? 1 : 0,
    expert: fitted.includes('expert') ? 1 : 0,
    bias: [],
  };
  let loss = negativeLogLikelihood(some, weights);
  for (let step = FIRST_STEP; step >= LAST_STEP; ) {
    let moved = false;
    for (const name of fitted) {
      for (const direction of [step, -step]) {
        const candidate = { ...weights, [name]: Math.max(0, weights[name] + direction) };
        const candidateLoss = negativeLogLikelihood(some, candidate);
        if (candidateLoss >= loss) continue;
        weights = candidate;
        loss = candidateLoss;
        moved = true;
      }
    }
    if (!moved) step /= 2;
  }
  return weights;
}

function negativeLogLikelihood(
  { constraints, transitions, sentences }: TagBlendRows,
  weights: TagWeights,
): number {
  const mixed = blendTransitions(constraints, transitions, weights.expert);
  const prior = (weights.encoder - 1) ** 2 + (weights.expert - 1) ** 2;
  let sum = (PRIOR_SENTENCES / 2) * prior;
  for (const sentence of sentences) {
    const emissions = blendEmissions(sentence, weights);
    sum += new TagLattice(emissions, mixed).logPartition - pathScore(emissions, mixed, sentence.tags);
  }
  return sum;
}

function pathScore(
  emissions: Float32Array,
  { start, between }: TagTransitions,
  tags: readonly number[],
): number {
  let score = 0;
  let previous: number | undefined;
  for (const [word, tag] of tags.entries()) {
    score += emissions[word * start.length + tag] ?? 0;
    score += (previous === undefined ? start[tag] : between[previous * start.length + tag]) ?? 0;
    previous = tag;
  }
  return score;
}
