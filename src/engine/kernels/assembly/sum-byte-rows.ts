import { F32, VECTOR } from './lanes';

/**
 * sums[b, j] = Σ values[i] · scales[ids[i]] · table[ids[i], j] over i in [starts[b], starts[b + 1]), over a table of
 * signed bytes. Shapes: ids, values [entries]; starts [bags + 1]; table [rows, stride]; scales [rows]; sums [bags, width],
 * width being the stride rounded up to a multiple of 4. What is in the columns after the stride means nothing; there
 * must be 3 bytes after the table. Multiplies the values by their scales in place.
 */
export function sumByteRows(
  table: usize,
  stride: usize,
  width: usize,
  scales: usize,
  ids: usize,
  starts: usize,
  bags: i32,
  values: usize,
  sums: usize,
): void {
  for (let bag = 0; bag < bags; bag++) {
    const first = <usize>load<u32>(starts + <usize>bag * F32) * F32;
    const end = <usize>load<u32>(starts + <usize>bag * F32, F32) * F32;
    for (let at = first; at < end; at += F32) {
      const scale = load<f32>(scales + <usize>load<u32>(ids + at) * F32);
      store<f32>(values + at, load<f32>(values + at) * scale);
    }
    let column: usize = 0;
    for (; column + VECTOR <= width; column += VECTOR) {
      let a = f32x4.splat(0);
      let b = f32x4.splat(0);
      let c = f32x4.splat(0);
      let d = f32x4.splat(0);
      for (let at = first; at < end; at += F32) {
        const bytes = v128.load(table + <usize>load<u32>(ids + at) * stride + column);
        const value = v128.load32_splat(values + at);
        const low = i16x8.extend_low_i8x16_s(bytes);
        const high = i16x8.extend_high_i8x16_s(bytes);
        a = f32x4.add(a, f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(low)), value));
        b = f32x4.add(b, f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_high_i16x8_s(low)), value));
        c = f32x4.add(c, f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(high)), value));
        d = f32x4.add(d, f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_high_i16x8_s(high)), value));
      }
      v128.store(sums, a);
      v128.store(sums, b, VECTOR);
      v128.store(sums, c, 2 * VECTOR);
      v128.store(sums, d, 3 * VECTOR);
      sums += 4 * VECTOR;
    }
    for (; column + 8 <= width; column += 8) {
      let a = f32x4.splat(0);
      let b = f32x4.splat(0);
      for (let at = first; at < end; at += F32) {
        const integers = v128.load8x8_s(table + <usize>load<u32>(ids + at) * stride + column);
        const value = v128.load32_splat(values + at);
        a = f32x4.add(a, f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(integers)), value));
        b = f32x4.add(b, f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_high_i16x8_s(integers)), value));
      }
      v128.store(sums, a);
      v128.store(sums, b, VECTOR);
      sums += 2 * VECTOR;
    }
    for (; column < width; column += 4) {
      let sum = f32x4.splat(0);
      for (let at = first; at < end; at += F32) {
        const bytes = v128.load32_zero(table + <usize>load<u32>(ids + at) * stride + column);
        const integers = i32x4.extend_low_i16x8_s(i16x8.extend_low_i8x16_s(bytes));
        sum = f32x4.add(sum, f32x4.mul(f32x4.convert_i32x4_s(integers), v128.load32_splat(values + at)));
      }
      v128.store(sums, sum);
      sums += VECTOR;
    }
  }
}
