import { fill } from './fill';
import { F32, VECTOR } from './lanes';

/**
 * One pass of dual coordinate descent over the rows named by `order` [count]; see `svmStep`. Row r has the features
 * `ids`/`values` [starts[r], starts[r + 1]) and the active outputs `labels` [labelStarts[r], labelStarts[r + 1]).
 * Shapes: squares [rows]; alphas [rows, outputs]; slacks [2, outputs]: of inactive and of active outputs, or, `perRow`,
 * [rows, outputs]; scratch [3, outputs]. Returns the largest violation.
 */
export function svmPass(
  order: usize,
  count: i32,
  starts: usize,
  ids: usize,
  values: usize,
  squares: usize,
  labelStarts: usize,
  labels: usize,
  weights: usize,
  outputs: i32,
  slacks: usize,
  perRow: bool,
  alphas: usize,
  scratch: usize,
): f32 {
  const rowBytes = <usize>outputs * F32;
  const signs = scratch + rowBytes;
  const rowSlacks = signs + rowBytes;
  fill(signs, outputs, -1);
  if (!perRow) memory.copy(rowSlacks, slacks, rowBytes);
  let violation: f32 = 0;
  for (let i = 0; i < count; i++) {
    const row = <usize>load<u32>(order + <usize>i * F32);
    const first = load<u32>(starts + row * F32);
    const last = load<u32>(starts + row * F32, F32);
    const firstLabel = load<u32>(labelStarts + row * F32);
    const lastLabel = load<u32>(labelStarts + row * F32, F32);
    for (let at = firstLabel; at < lastLabel; at++) {
      const output = <usize>load<u32>(labels + <usize>at * F32) * F32;
      store<f32>(signs + output, 1);
      if (!perRow) store<f32>(rowSlacks + output, load<f32>(slacks + rowBytes + output));
    }
    const violated = svmStep(
      ids + <usize>first * F32,
      values + <usize>first * F32,
      last - first,
      weights,
      outputs,
      load<f32>(squares + row * F32),
      signs,
      perRow ? slacks + row * rowBytes : rowSlacks,
      alphas + row * rowBytes,
      scratch,
    );
    violation = max(violation, violated);
    for (let at = firstLabel; at < lastLabel; at++) {
      const output = <usize>load<u32>(labels + <usize>at * F32) * F32;
      store<f32>(signs + output, -1);
      if (!perRow) store<f32>(rowSlacks + output, load<f32>(slacks + output));
    }
  }
  return violation;
}

/**
 * One step of dual coordinate descent for L2-regularized squared-hinge SVMs (Hsieh et al. 2008, algorithm 1), for one
 * row and all outputs at once. Every output is a problem of its own; they share the row x:
 *
 *   G = y · (w·x) − 1 + D · α
 *   α' = max(α − G / (x·x + D), 0)
 *   w += (α' − α) · y · x
 *
 * Shapes: ids, values [count]; weights [features, outputs]; signs y, slacks D = 1 / (2C), alphas, scratch [outputs],
 * outputs being a multiple of 4. `square` is x·x. Returns the largest violation of the optimality conditions.
 */
function svmStep(
  ids: usize,
  values: usize,
  count: i32,
  weights: usize,
  outputs: i32,
  square: f32,
  signs: usize,
  slacks: usize,
  alphas: usize,
  scratch: usize,
): f32 {
  const rowBytes = <usize>outputs * F32;
  let violation = f32x4.splat(0);
  let moved = v128.splat<i32>(0);
  for (let lane: usize = 0; lane < rowBytes; lane += VECTOR) {
    const margin = dotColumns(ids, values, count, weights + lane, rowBytes);
    const sign = v128.load(signs + lane);
    const slack = v128.load(slacks + lane);
    const alpha = v128.load(alphas + lane);
    const gradient = f32x4.add(
      f32x4.sub(f32x4.mul(sign, margin), f32x4.splat(1)),
      f32x4.mul(slack, alpha),
    );
    const curvature = f32x4.add(f32x4.splat(square), slack);
    const fresh = f32x4.max(f32x4.sub(alpha, f32x4.div(gradient, curvature)), f32x4.splat(0));
    const step = f32x4.sub(fresh, alpha);
    v128.store(alphas + lane, fresh);
    v128.store(scratch + lane, f32x4.mul(step, sign));
    moved = v128.or(moved, step);
    // At α = 0 only a falling objective violates: there the step is 0 where the gradient is positive.
    violation = f32x4.max(violation, f32x4.abs(f32x4.mul(step, curvature)));
  }
  if (v128.any_true(moved)) addColumns(ids, values, count, weights, rowBytes, scratch);
  return max(
    max(f32x4.extract_lane(violation, 0), f32x4.extract_lane(violation, 1)),
    max(f32x4.extract_lane(violation, 2), f32x4.extract_lane(violation, 3)),
  );
}

/** Four columns of x·W. */
@inline
function dotColumns(ids: usize, values: usize, count: i32, column: usize, rowBytes: usize): v128 {
  let even = f32x4.splat(0);
  let odd = f32x4.splat(0);
  let i = 0;
  for (; i + 1 < count; i += 2) {
    const at = <usize>i * F32;
    const first = v128.load(column + <usize>load<u32>(ids + at) * rowBytes);
    const second = v128.load(column + <usize>load<u32>(ids + at, F32) * rowBytes);
    even = f32x4.add(even, f32x4.mul(first, v128.load32_splat(values + at)));
    odd = f32x4.add(odd, f32x4.mul(second, v128.load32_splat(values + at, F32)));
  }
  if (i < count) {
    const at = <usize>i * F32;
    const last = v128.load(column + <usize>load<u32>(ids + at) * rowBytes);
    even = f32x4.add(even, f32x4.mul(last, v128.load32_splat(values + at)));
  }
  return f32x4.add(even, odd);
}

/** W += x ⊗ steps, four columns at a time, skipping those whose steps are 0. */
@inline
function addColumns(ids: usize, values: usize, count: i32, weights: usize, rowBytes: usize, steps: usize): void {
  for (let lane: usize = 0; lane < rowBytes; lane += VECTOR) {
    const step = v128.load(steps + lane);
    if (!v128.any_true(f32x4.ne(step, f32x4.splat(0)))) continue;
    for (let i = 0; i < count; i++) {
      const at = <usize>i * F32;
      const weight = weights + lane + <usize>load<u32>(ids + at) * rowBytes;
      v128.store(weight, f32x4.add(v128.load(weight), f32x4.mul(step, v128.load32_splat(values + at))));
    }
  }
}
