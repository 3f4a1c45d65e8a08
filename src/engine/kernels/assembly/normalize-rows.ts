import { F32, I16, sumOf, VECTOR } from './lanes';
import { putRounded } from './round-values';

/**
 * Layer normalization of each row (Ba et al. 2016) after `residual` is added to it, which may be 0 for none. Shapes: input,
 * which the sum replaces, residual and out [rows, width]; weight, bias [width]; rounded [rows, width] of 16 bits, or 0 for
 * none. The width is a multiple of 4.
 */
export function normalizeRows(
  input: usize,
  residual: usize,
  rows: i32,
  width: i32,
  weight: usize,
  bias: usize,
  epsilon: f32,
  out: usize,
  rounded: usize,
  step: f32,
  zero: f32,
): void {
  const bytes = <usize>width * F32;
  for (let row = 0; row < rows; row++) {
    let sums = f32x4.splat(0);
    for (let at: usize = 0; at < bytes; at += VECTOR) {
      let values = v128.load(input + at);
      if (residual) {
        values = f32x4.add(values, v128.load(residual + at));
        v128.store(input + at, values);
      }
      sums = f32x4.add(sums, values);
    }
    const mean = f32x4.splat(sumOf(sums) / <f32>width);
    let squares = f32x4.splat(0);
    for (let at: usize = 0; at < bytes; at += VECTOR) {
      const deviation = f32x4.sub(v128.load(input + at), mean);
      squares = f32x4.add(squares, f32x4.mul(deviation, deviation));
    }
    const factor = f32x4.splat(1 / sqrt<f32>(sumOf(squares) / <f32>width + epsilon));
    for (let at: usize = 0; at < bytes; at += VECTOR) {
      const scaled = f32x4.mul(f32x4.sub(v128.load(input + at), mean), factor);
      const normal = f32x4.add(f32x4.mul(scaled, v128.load(weight + at)), v128.load(bias + at));
      v128.store(out + at, normal);
      if (rounded) putRounded(rounded + (at >> 1), normal, step, zero);
    }
    input += bytes;
    if (residual) residual += bytes;
    out += bytes;
    if (rounded) rounded += <usize>width * I16;
  }
}
