import { OUTSIDE } from './bio-tags.js';
import type { TagWeights } from './blend-tags.js';

/** Steps away from 0 that are tried: a few coarse ones, then finer ones around the best. */
const COARSE = [-1, 0, 1, 2, 3, 4, 6];
const FINE = [-0.5, -0.25, 0.25, 0.5];

/**
 * Moves the score of O to where the most entities are found rightly: the likeliest tags leave out too many entities of
 * rare types for the best F1 (Lipton et al. 2014, "Optimal Thresholding of Classifiers to Maximize F1 Measure").
 * @param f1Of the entity F1 of some weights on dev; of equal ones the first tried is taken, 0 before all.
 */
export function fitOutsideBias(
  weights: TagWeights,
  tags: readonly string[],
  f1Of: (weights: TagWeights) => number,
): TagWeights {
  const lowered = (by: number): TagWeights => ({
    ...weights,
    bias: tags.map((tag) => (tag === OUTSIDE && by !== 0 ? -by : 0)),
  });
  const bestOf = (all: readonly number[]) => {
    const judged = all.map((by) => ({ by, f1: f1Of(lowered(by)) }));
    return judged.reduce((best, each) => (each.f1 > best.f1 ? each : best));
  };
  const { by: coarse } = bestOf(COARSE.toSorted((a, b) => Math.abs(a) - Math.abs(b)));
  return lowered(bestOf([coarse, ...FINE.map((step) => coarse + step)]).by);
}
