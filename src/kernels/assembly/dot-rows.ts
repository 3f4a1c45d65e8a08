import { F32, VECTOR } from './lanes';

/**
 * scores[i] = scales[i] · Σⱼ codes[i, j] · query[j]; the sums are whole numbers and must fit into 32 bits.
 * Shapes: codes [rows, width] signed bytes, query [width] 16-bit, width a multiple of 16; scales, scores
 * [rows].
 */
export function dotByteRows(codes: usize, width: i32, rows: i32, scales: usize, query: usize, scores: usize): void {
  const queryEnd = query + 2 * <usize>width;
  for (let row = 0; row < rows; row++) {
    let low = i32x4.splat(0);
    let high = i32x4.splat(0);
    for (let at = query; at < queryEnd; at += 2 * VECTOR) {
      const bytes = v128.load(codes);
      low = i32x4.add(low, i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_s(bytes), v128.load(at)));
      high = i32x4.add(high, i32x4.dot_i16x8_s(i16x8.extend_high_i8x16_s(bytes), v128.load(at, VECTOR)));
      codes += VECTOR;
    }
    const sums = i32x4.add(low, high);
    const sum =
      i32x4.extract_lane(sums, 0) + i32x4.extract_lane(sums, 1) + i32x4.extract_lane(sums, 2) + i32x4.extract_lane(sums, 3);
    store<f32>(scores, <f32>sum * load<f32>(scales));
    scales += F32;
    scores += F32;
  }
}

/**
 * scores[i] = Σⱼ table[ids[i], j] · query[j], in sixteen f32 sums that are added at the end.
 * Shapes: table [any, width], query [width], width a multiple of 16; ids, scores [count].
 */
export function dotRows(table: usize, width: i32, ids: usize, count: i32, query: usize, scores: usize): void {
  const queryEnd = query + <usize>width * F32;
  for (let i = 0; i < count; i++) {
    let row = table + <usize>load<u32>(ids) * <usize>width * F32;
    let a = f32x4.splat(0);
    let b = f32x4.splat(0);
    let c = f32x4.splat(0);
    let d = f32x4.splat(0);
    for (let at = query; at < queryEnd; at += 4 * VECTOR) {
      a = f32x4.add(a, f32x4.mul(v128.load(row), v128.load(at)));
      b = f32x4.add(b, f32x4.mul(v128.load(row, VECTOR), v128.load(at, VECTOR)));
      c = f32x4.add(c, f32x4.mul(v128.load(row, 2 * VECTOR), v128.load(at, 2 * VECTOR)));
      d = f32x4.add(d, f32x4.mul(v128.load(row, 3 * VECTOR), v128.load(at, 3 * VECTOR)));
      row += 4 * VECTOR;
    }
    const sums = f32x4.add(f32x4.add(a, b), f32x4.add(c, d));
    const sum =
      f32x4.extract_lane(sums, 0) + f32x4.extract_lane(sums, 1) + f32x4.extract_lane(sums, 2) + f32x4.extract_lane(sums, 3);
    store<f32>(scores, sum);
    ids += F32;
    scores += F32;
  }
}
