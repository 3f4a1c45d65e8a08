import { F32, VECTOR } from './lanes';

/** Bytes of one binary16. */
const F16: usize = 2;

/**
 * floats[i] = halves[i], binary16 as float32. In whole vectors: up to three elements after the last are read and written.
 * The halves may be the second half of the floats' own memory, as each vector is read before its place is written to.
 * Returns whether all are finite.
 */
export function widenHalves(halves: usize, count: i32, floats: usize): bool {
  let any = i32x4.splat(0);
  const end = floats + <usize>count * F32;
  for (; floats < end; floats += VECTOR, halves += 4 * F16) {
    const bits = v128.load16x4_u(halves);
    const sign = i32x4.shl(v128.and(bits, i32x4.splat(0x8000)), 16);
    // In their places in a float32, the bits only lack the larger exponent: 127 − 15.
    const small = i32x4.shl(v128.and(bits, i32x4.splat(0x7fff)), 13);
    const value = f32x4.mul(small, f32x4.splat(reinterpret<f32>((127 + 112) << 23)));
    // An infinity or NaN, whose exponent is the largest in both.
    const special = v128.and(f32x4.ge(value, f32x4.splat(65536)), i32x4.splat(0x7f800000));
    any = v128.or(any, special);
    v128.store(floats, v128.or(v128.or(value, special), sign));
  }
  return !v128.any_true(any);
}
