import type { Steps } from '../../pauses.js';
import type { Random } from '../../random.js';

/**
 * Draws some of many points, spread out: each next one with a probability in proportion to its weight times the square of
 * its distance to the nearest that was drawn (k-means++: Arthur & Vassilvitskii 2007; for what to label next with weights
 * that say how unsure the model is, as in BADGE: Ash et al. 2020). The first is the heaviest. Points in the place of one
 * that was drawn come last.
 * @param vectors of unit length. [points, width]
 * @param weights at least 0. [points]
 * @returns positions of the points, in the order of their drawing.
 */
export function* spreadOut(
  vectors: readonly Float32Array[],
  weights: readonly number[],
  count: number,
  random: Random,
): Steps<number[]> {
  const distances = new Float64Array(vectors.length).fill(Number.POSITIVE_INFINITY);
  const isDrawn = new Uint8Array(vectors.length);
  const drawn: number[] = [];
  const most = Math.min(count, vectors.length);
  let next = weights.reduce((best, weight, at) => (weight > (weights[best] ?? 0) ? at : best), 0);
  while (drawn.length < most) {
    yield;
    drawn.push(next);
    isDrawn[next] = 1;
    const center = vectors[next] ?? new Float32Array();
    for (const [at, vector] of vectors.entries()) {
      distances[at] = Math.min(distances[at] ?? 0, squaredDistance(vector, center));
    }
    const chances = Float64Array.from(distances, (distance, at) =>
      isDrawn[at] === 1 ? 0 : (weights[at] ?? 0) * distance,
    );
    next = drawOne(chances, random) ?? isDrawn.indexOf(0);
  }
  return drawn;
}

/** Below this, two vectors of unit length are the same but for rounding. */
const SAME = 1e-6;

/** Of vectors of unit length: 2 less twice their cosine. */
function squaredDistance(a: Float32Array, b: Float32Array): number {
  let cosine = 0;
  for (let at = 0; at < a.length; at += 1) cosine += (a[at] ?? 0) * (b[at] ?? 0);
  const distance = 2 - 2 * cosine;
  return distance < SAME ? 0 : distance;
}

/** A position in proportion to its chance; undefined where none has any. */
function drawOne(chances: Float64Array, random: Random): number | undefined {
  const total = chances.reduce((sum, chance) => sum + chance, 0);
  if (!(total > 0)) return undefined;
  let left = random.uniform() * total;
  let last: number | undefined;
  for (const [at, chance] of chances.entries()) {
    if (chance === 0) continue;
    last = at;
    left -= chance;
    if (left < 0) return at;
  }
  return last;
}
