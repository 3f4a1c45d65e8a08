import { TagLattice, type TagTransitions } from './tag-lattice.js';

/** The loss of a tagged sentence, and its gradient. */
export interface SentenceLoss {
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
