import { F32, gelu, VECTOR } from './lanes';

/**
 * Rounds four values to steps: x / step, within [-zero, 255 - zero]. These are the unsigned bytes of the ONNX graph less
 * their zero point, which fit 16 bits. It divides, as ONNX Runtime does: a product with the reciprocal would round some values
 * to another integer.
 */
@inline
export function putRounded(target: usize, values: v128, step: f32, zero: f32): void {
  const steps = f32x4.nearest(f32x4.div(values, f32x4.splat(step)));
  const within = f32x4.pmax(f32x4.pmin(steps, f32x4.splat(255 - zero)), f32x4.splat(-zero));
  const integers = i32x4.trunc_sat_f32x4_s(within);
  v128.store64_lane(target, i16x8.narrow_i32x4_s(integers, integers), 0);
}

/** Rounds `count` values, a multiple of 4, to 16 bits each. */
export function roundValues(values: usize, count: i32, out: usize, step: f32, zero: f32): void {
  const end = values + <usize>count * F32;
  for (; values < end; values += VECTOR, out += 8) putRounded(out, v128.load(values), step, zero);
}

/** values[i, j] = scales[j] · sums[i, j] + bias[j], in place of the sums. Shapes: sums [rows, width], a multiple of 4. */
export function restoreSums(sums: usize, rows: i32, width: i32, scales: usize, bias: usize): void {
  const bytes = <usize>width * F32;
  for (let row = 0; row < rows; row++, sums += bytes) {
    for (let at: usize = 0; at < bytes; at += VECTOR) v128.store(sums + at, restored(sums, scales, bias, at));
  }
}

/** The same, then GELU, then rounded to 16 bits. */
export function restoreThroughGelu(
  sums: usize,
  rows: i32,
  width: i32,
  scales: usize,
  bias: usize,
  out: usize,
  step: f32,
  zero: f32,
): void {
  const bytes = <usize>width * F32;
  for (let row = 0; row < rows; row++, sums += bytes) {
    for (let at: usize = 0; at < bytes; at += VECTOR, out += 8) {
      putRounded(out, gelu(restored(sums, scales, bias, at)), step, zero);
    }
  }
}

@inline
function restored(sums: usize, scales: usize, bias: usize, at: usize): v128 {
  return f32x4.add(f32x4.mul(f32x4.convert_i32x4_s(v128.load(sums + at)), v128.load(scales + at)), v128.load(bias + at));
}

/** GELU of `count` values, a multiple of 4, in place. */
export function geluOfValues(values: usize, count: i32): void {
  const end = values + <usize>count * F32;
  for (; values < end; values += VECTOR) v128.store(values, gelu(v128.load(values)));
}
