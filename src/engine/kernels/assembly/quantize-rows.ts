import { F32, largestOf, VECTOR } from './lanes';

/** The smallest normal float32. */
const SMALLEST_SCALE: f32 = 1.1754943508222875e-38;

/**
 * codes[i, j] = table[i, j] / scales[i], rounded to the nearest integer and halves up; scales[i] = the largest absolute
 * value of the row / most, or 0 if that is too small. As `quantizeRow` in src/system/numbers.ts, to the bit.
 * Shapes: table [rows, width], codes [rows, width] signed bytes, width a multiple of 4; scales [rows].
 * Returns the largest absolute value; NaN if one is NaN.
 */
export function quantizeRows(table: usize, width: i32, rows: i32, most: f64, codes: usize, scales: usize): f32 {
  let all = f32x4.splat(0);
  const rowBytes = <usize>width * F32;
  for (let row = 0; row < rows; row++) {
    const end = table + rowBytes;
    let largest = f32x4.splat(0);
    for (let at = table; at < end; at += VECTOR) largest = f32x4.max(largest, f32x4.abs(v128.load(at)));
    all = f32x4.max(all, largest);
    const scale = <f32>(<f64>largestOf(largest) / most);
    const isSmall = scale < SMALLEST_SCALE;
    store<f32>(scales + <usize>row * F32, isSmall ? 0 : scale);
    const divisor = f64x2.splat(<f64>scale);
    for (; table < end; table += VECTOR, codes += 4) {
      if (isSmall) {
        store<u32>(codes, 0);
        continue;
      }
      const values = v128.load(table);
      const low = rounded(f64x2.div(f64x2.promote_low_f32x4(values), divisor));
      const high = rounded(f64x2.div(f64x2.promote_low_f32x4(i64x2.shuffle(values, values, 1, 0)), divisor));
      const words = i16x8.narrow_i32x4_s(i64x2.shuffle(low, high, 0, 2), i32x4.splat(0));
      v128.store32_lane(codes, i8x16.narrow_i16x8_s(words, words), 0);
    }
  }
  return largestOf(all);
}

/** Halves up, as Math.round; the two integers come first. */
@inline
function rounded(values: v128): v128 {
  const floor = f64x2.floor(values);
  const up = v128.and(f64x2.ge(f64x2.sub(values, floor), f64x2.splat(0.5)), f64x2.splat(1));
  return i32x4.trunc_sat_f64x2_s_zero(f64x2.add(floor, up));
}
