import { F32, VECTOR } from './lanes';

/**
 * sums[j] = Σᵢ values[i] · table[ids[i], j] over a table of signed bytes.
 * Shapes: ids, values [count]; table [rows, width] with width a multiple of 4; sums [width].
 */
export function sumByteRows(table: usize, width: i32, ids: usize, values: usize, count: i32, sums: usize): void {
  for (let column: usize = 0; column < <usize>width; column += 4) {
    let sum = f32x4.splat(0);
    for (let i = 0; i < count; i++) {
      const at = <usize>i * F32;
      const bytes = v128.load32_zero(table + <usize>load<u32>(ids + at) * <usize>width + column);
      const integers = i32x4.extend_low_i16x8_s(i16x8.extend_low_i8x16_s(bytes));
      sum = f32x4.add(sum, f32x4.mul(f32x4.convert_i32x4_s(integers), v128.load32_splat(values + at)));
    }
    v128.store(sums, sum);
    sums += VECTOR;
  }
}
