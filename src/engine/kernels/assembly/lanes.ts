/** Bytes of one f32. */
export const F32: usize = 4;
/** Bytes of one vector of four f32. */
export const VECTOR: usize = 16;
/** Bytes of one 16-bit integer. */
export const I16: usize = 2;

/** End of the part of [pointer, pointer + count f32) that divides into whole vectors. */
@inline
export function endOfWholeVectors(pointer: usize, count: i32): usize {
  return pointer + (<usize>(count & ~3)) * F32;
}

/** The first `lanes` (1 to 4) f32 at `pointer`, the others 0. Reads nothing beyond them. */
@inline
export function loadLanes(pointer: usize, lanes: i32): v128 {
  if (lanes >= 4) return v128.load(pointer);
  let vector = v128.load_zero<f32>(pointer);
  if (lanes > 1) vector = v128.load_lane<f32>(pointer + F32, vector, 1);
  if (lanes > 2) vector = v128.load_lane<f32>(pointer + 2 * F32, vector, 2);
  return vector;
}

/** Writes the first `lanes` f32 of a vector (none where `lanes` is 0 or less) and nothing beyond them. */
@inline
export function storeLanes(pointer: usize, vector: v128, lanes: i32): void {
  if (lanes >= 4) {
    v128.store(pointer, vector);
    return;
  }
  if (lanes > 0) v128.store_lane<f32>(pointer, vector, 0);
  if (lanes > 1) v128.store_lane<f32>(pointer + F32, vector, 1);
  if (lanes > 2) v128.store_lane<f32>(pointer + 2 * F32, vector, 2);
}

/** The sum of the four lanes. */
@inline
export function sumOf(values: v128): f32 {
  return (
    f32x4.extract_lane(values, 0) + f32x4.extract_lane(values, 1) + (f32x4.extract_lane(values, 2) + f32x4.extract_lane(values, 3))
  );
}

/** The largest of the four lanes. */
@inline
export function largestOf(values: v128): f32 {
  const a = max(f32x4.extract_lane(values, 0), f32x4.extract_lane(values, 1));
  return max(a, max(f32x4.extract_lane(values, 2), f32x4.extract_lane(values, 3)));
}

/** e^x for x ≤ 0, to 2e-7 of it: 2^n · 2^f with |f| ≤ ½, the second factor by its Taylor polynomial. */
@inline
export function exponential(x: v128): v128 {
  const t = f32x4.mul(f32x4.pmax(x, f32x4.splat(-87)), f32x4.splat(1.44269504));
  const n = f32x4.nearest(t);
  const f = f32x4.sub(t, n);
  let p = f32x4.splat(1.5403530e-4);
  p = f32x4.add(f32x4.mul(p, f), f32x4.splat(1.3333558e-3));
  p = f32x4.add(f32x4.mul(p, f), f32x4.splat(9.6181291e-3));
  p = f32x4.add(f32x4.mul(p, f), f32x4.splat(5.5504109e-2));
  p = f32x4.add(f32x4.mul(p, f), f32x4.splat(2.4022651e-1));
  p = f32x4.add(f32x4.mul(p, f), f32x4.splat(6.9314718e-1));
  p = f32x4.add(f32x4.mul(p, f), f32x4.splat(1));
  const exponent = i32x4.shl(i32x4.add(i32x4.trunc_sat_f32x4_s(n), i32x4.splat(127)), 23);
  return f32x4.mul(p, exponent);
}

/** x/2 · (1 + erf(x/√2)); erf by Abramowitz & Stegun 7.1.26, which is off by 1.5e-7 at most. */
@inline
export function gelu(x: v128): v128 {
  const z = f32x4.abs(f32x4.mul(x, f32x4.splat(0.70710678)));
  const t = f32x4.div(f32x4.splat(1), f32x4.add(f32x4.mul(z, f32x4.splat(0.3275911)), f32x4.splat(1)));
  let p = f32x4.splat(1.061405429);
  p = f32x4.add(f32x4.mul(p, t), f32x4.splat(-1.453152027));
  p = f32x4.add(f32x4.mul(p, t), f32x4.splat(1.421413741));
  p = f32x4.add(f32x4.mul(p, t), f32x4.splat(-0.284496736));
  p = f32x4.add(f32x4.mul(p, t), f32x4.splat(0.254829592));
  // 1 − erf(z), which is small where z is large.
  const rest = f32x4.mul(f32x4.mul(p, t), exponential(f32x4.neg(f32x4.mul(z, z))));
  const isNegative = f32x4.lt(x, f32x4.splat(0));
  const gate = v128.bitselect(rest, f32x4.sub(f32x4.splat(2), rest), isNegative);
  return f32x4.mul(f32x4.mul(x, f32x4.splat(0.5)), gate);
}
