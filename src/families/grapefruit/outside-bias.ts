import type { Steps } from '../../pauses.js';
import { OUTSIDE } from './bio-tags.js';
import type { TagWeights } from './blend-tags.js';

/** How far the score of O is lowered: coarse steps are tried first, then finer ones around the best. */
const COARSE = [-1, 0, 1, 2, 3, 4, 6];
const FINE = [-0.5, -0.25, 0.25, 0.5];

/**
 * Moves the score of O to where the F1 is best: the likeliest tags leave out too many entities of rare types
 * for that (Lipton et al. 2014, "Optimal Thresholding of Classifiers to Maximize F1 Measure").
 * @param f1Of gives the entity F1 of weights on dev. Among equals the first one tried wins, and 0 is tried
 * first.
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
