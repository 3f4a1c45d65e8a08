import { endOfWholeVectors, loadLanes, storeLanes, VECTOR } from './lanes';

/**
 * One AdamW update in place (Loshchilov & Hutter 2019, algorithm 2, with epsilon where PyTorch has it):
 *
 *   g = gradientScale · gradients
 *   m = beta1 · m + (1 − beta1) · g          v = beta2 · v + (1 − beta2) · g²
 *   w = shrink · w − stepSize · m / (√v · rootScale + epsilon)
 *
 * shrink = 1 − rate · weightDecay, stepSize = rate / (1 − beta1^t), rootScale = 1 / √(1 − beta2^t): the
 * caller works them out in f64. The complements of beta1 and beta2 are arguments since 1 − f32(0.999) has few
 * correct digits.
 */
export function adamW(
  weights: usize,
  gradients: usize,
  firstMoments: usize,
  secondMoments: usize,
  count: i32,
  gradientScale: f32,
  beta1: f32,
  complement1: f32,
  beta2: f32,
  complement2: f32,
  shrink: f32,
  stepSize: f32,
  rootScale: f32,
  epsilon: f32,
): void {
  const g = f32x4.splat(gradientScale);
  const b1 = f32x4.splat(beta1);
  const c1 = f32x4.splat(complement1);
  const b2 = f32x4.splat(beta2);
  const c2 = f32x4.splat(complement2);
  const s = f32x4.splat(shrink);
  const a = f32x4.splat(stepSize);
  const r = f32x4.splat(rootScale);
  const e = f32x4.splat(epsilon);

  const whole = endOfWholeVectors(weights, count);
  while (weights < whole) {
    update(weights, gradients, firstMoments, secondMoments, 4, g, b1, c1, b2, c2, s, a, r, e);
    weights += VECTOR;
    gradients += VECTOR;
    firstMoments += VECTOR;
    secondMoments += VECTOR;
  }
  const rest = count & 3;
  if (rest > 0) update(weights, gradients, firstMoments, secondMoments, rest, g, b1, c1, b2, c2, s, a, r, e);
}

/** Updates `lanes` (1 to 4) parameters; the vectors hold one scalar of `adamW` each. */
@inline
function update(
  weights: usize,
  gradients: usize,
  firstMoments: usize,
  secondMoments: usize,
  lanes: i32,
  gradientScale: v128,
  beta1: v128,
  complement1: v128,
  beta2: v128,
  complement2: v128,
  shrink: v128,
  stepSize: v128,
  rootScale: v128,
  epsilon: v128,
): void {
  const gradient = f32x4.mul(loadLanes(gradients, lanes), gradientScale);
  const first = blend(loadLanes(firstMoments, lanes), beta1, gradient, complement1);
  const second = blend(loadLanes(secondMoments, lanes), beta2, f32x4.mul(gradient, gradient), complement2);
  storeLanes(firstMoments, first, lanes);
  storeLanes(secondMoments, second, lanes);

  const denominator = f32x4.add(f32x4.mul(f32x4.sqrt(second), rootScale), epsilon);
  const step = f32x4.div(f32x4.mul(stepSize, first), denominator);
  storeLanes(weights, f32x4.sub(f32x4.mul(loadLanes(weights, lanes), shrink), step), lanes);
}

/** old · keep + fresh · add. */
@inline
function blend(old: v128, keep: v128, fresh: v128, add: v128): v128 {
  return f32x4.add(f32x4.mul(old, keep), f32x4.mul(fresh, add));
}
