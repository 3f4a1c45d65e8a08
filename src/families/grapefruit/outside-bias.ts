import { OUTSIDE } from './bio-tags.js';
import type { TagWeights } from './blend-tags.js';

const LOWEST = -2;
const HIGHEST = 4;
const STEP = 0.25;

/**
 * Moves the score of O to where the most entities are found rightly: the likeliest tags leave out too many entities of
 * rare types for the best F1 (Lipton et al. 2014, "Optimal Thresholding of Classifiers to Maximize F1 Measure").
 * @param f1Of the entity F1 of some weights on dev; of equal ones the bias nearest to 0 is taken.
 */
export function fitOutsideBias(
  weights: TagWeights,
  tags: readonly string[],
  f1Of: (weights: TagWeights) => number,
): TagWeights {
  const steps = Array.from({ length: (HIGHEST - LOWEST) / STEP + 1 }, (_, step) => LOWEST + step * STEP);
  let best = weights;
  let bestF1 = f1Of(weights);
  for (const raised of steps.sort((a, b) => Math.abs(a) - Math.abs(b))) {
    const candidate = { ...weights, bias: tags.map((tag) => (tag === OUTSIDE ? -raised : 0)) };
    const f1 = f1Of(candidate);
    if (f1 <= bestF1) continue;
    best = candidate;
    bestF1 = f1;
  }
  return best;
}
