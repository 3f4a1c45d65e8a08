import { F32, storeLanes, VECTOR } from './lanes';

// Philox4x32-7: Salmon, Moraes, Dror & Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3". Seven rounds
// are the fewest that pass all of BigCrush in that paper.
const ROUNDS = 7;
const MULTIPLIER_0: u32 = 0xd2511f53;
const MULTIPLIER_1: u32 = 0xcd9e8d57;
const KEY_INCREMENT_0: u32 = 0x9e3779b9;
const KEY_INCREMENT_1: u32 = 0xbb67ae85;

/** Mask elements drawn from four Philox blocks of four u32: two 16-bit draws per word. */
const GROUP = 32;

/**
 * mask[i] = 0 where draw i (16 bits) is below `threshold`, else `kept`.
 *
 * Group p (32 elements) comes from the four counters (0..3, low word of p, high word of p, 0) under the key
 * (seed, 0). Its element e takes word ⌊e/8⌋ of block ⌊(e mod 8)/2⌋, the low half where e is even, else the
 * high half. The first group is number `position` (a whole number below 2^53).
 */
export function dropoutMask(mask: usize, count: i32, threshold: i32, kept: f32, seed: u32, position: f64): void {
  const limit = i16x8.splat(<i16>threshold);
  const value = f32x4.splat(kept);
  const multiplier0 = i32x4.splat(<i32>MULTIPLIER_0);
  const multiplier1 = i32x4.splat(<i32>MULTIPLIER_1);
  let group = <u64>position;

  for (let rest = count; rest > 0; rest -= GROUP) {
    let x0 = i32x4(0, 1, 2, 3);
    let x1 = i32x4.splat(<i32>group);
    let x2 = i32x4.splat(<i32>(group >> 32));
    let x3 = i32x4.splat(0);
    let key0 = seed;
    let key1: u32 = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const low0 = i64x2.extmul_low_i32x4_u(x0, multiplier0);
      const high0 = i64x2.extmul_high_i32x4_u(x0, multiplier0);
      const low1 = i64x2.extmul_low_i32x4_u(x2, multiplier1);
      const high1 = i64x2.extmul_high_i32x4_u(x2, multiplier1);
      x0 = v128.xor(v128.xor(upperWords(low1, high1), x1), i32x4.splat(<i32>key0));
      x1 = lowerWords(low1, high1);
      x2 = v128.xor(v128.xor(upperWords(low0, high0), x3), i32x4.splat(<i32>key1));
      x3 = lowerWords(low0, high0);
      key0 += KEY_INCREMENT_0;
      key1 += KEY_INCREMENT_1;
    }
    storeEight(mask, x0, limit, value, rest);
    storeEight(mask + 2 * VECTOR, x1, limit, value, rest - 8);
    storeEight(mask + 4 * VECTOR, x2, limit, value, rest - 16);
    storeEight(mask + 6 * VECTOR, x3, limit, value, rest - 24);
    mask += GROUP * F32;
    group++;
  }
}

/** The lower 32 bits of four 64-bit products. */
@inline
function lowerWords(low: v128, high: v128): v128 {
  return i32x4.shuffle(low, high, 0, 2, 4, 6);
}

/** The upper 32 bits of four 64-bit products. */
@inline
function upperWords(low: v128, high: v128): v128 {
  return i32x4.shuffle(low, high, 1, 3, 5, 7);
}

/** Compares eight 16-bit draws with the limit and writes the first `rest` results. */
@inline
function storeEight(mask: usize, draws: v128, limit: v128, kept: v128, rest: i32): void {
  const keep = i16x8.ge_u(draws, limit);
  storeLanes(mask, v128.and(i32x4.extend_low_i16x8_s(keep), kept), rest);
  storeLanes(mask + VECTOR, v128.and(i32x4.extend_high_i16x8_s(keep), kept), rest - 4);
}
