import { F32, VECTOR } from './lanes';

/** Codes that one step of a dot product reads of each row. */
const CODES = 8;

/**
 * scores[i] = scales[i] · Σⱼ codes[i, j] · query[j]; the sums are whole numbers and must fit into 32 bits. Shapes:
 * codes [rows, width] signed bytes, query [width] 16-bit, width a multiple of 16; scales, scores [rows].
 */
export function dotByteRows(codes: usize, width: i32, rows: i32, scales: usize, query: usize, scores: usize): void {
  const queryEnd = query + 2 * <usize>width;
  let row = 0;
  // Four rows at a time, so that each part of the query is loaded once for all of them.
  for (; row + 4 <= rows; row += 4) {
    let first = codes;
    let second = first + width;
    let third = second + width;
    let fourth = third + width;
    codes = fourth + width;
    let a = i32x4.splat(0);
    let b = i32x4.splat(0);
    let c = i32x4.splat(0);
    let d = i32x4.splat(0);
    for (let at = query; at < queryEnd; at += 2 * VECTOR) {
      const low = v128.load(at);
      const high = v128.load(at, VECTOR);
      a = i32x4.add(a, i32x4.dot_i16x8_s(v128.load8x8_s(first), low));
      b = i32x4.add(b, i32x4.dot_i16x8_s(v128.load8x8_s(second), low));
      c = i32x4.add(c, i32x4.dot_i16x8_s(v128.load8x8_s(third), low));
      d = i32x4.add(d, i32x4.dot_i16x8_s(v128.load8x8_s(fourth), low));
      a = i32x4.add(a, i32x4.dot_i16x8_s(v128.load8x8_s(first, CODES), high));
      b = i32x4.add(b, i32x4.dot_i16x8_s(v128.load8x8_s(second, CODES), high));
      c = i32x4.add(c, i32x4.dot_i16x8_s(v128.load8x8_s(third, CODES), high));
      d = i32x4.add(d, i32x4.dot_i16x8_s(v128.load8x8_s(fourth, CODES), high));
      first += VECTOR;
      second += VECTOR;
      third += VECTOR;
      fourth += VECTOR;
    }
    // [a₀ + a₂, b₀ + b₂, a₁ + a₃, b₁ + b₃] and the same of c and d, whose halves add up to the four sums.
    const ab = i32x4.add(v128.shuffle<i32>(a, b, 0, 4, 1, 5), v128.shuffle<i32>(a, b, 2, 6, 3, 7));
    const cd = i32x4.add(v128.shuffle<i32>(c, d, 0, 4, 1, 5), v128.shuffle<i32>(c, d, 2, 6, 3, 7));
    const sums = i32x4.add(v128.shuffle<i32>(ab, cd, 0, 1, 4, 5), v128.shuffle<i32>(ab, cd, 2, 3, 6, 7));
    v128.store(scores, f32x4.mul(f32x4.convert_i32x4_s(sums), v128.load(scales)));
    scales += VECTOR;
    scores += VECTOR;
  }
  for (; row < rows; row++) {
    let sums = i32x4.splat(0);
    for (let at = query; at < queryEnd; at += VECTOR) {
      sums = i32x4.add(sums, i32x4.dot_i16x8_s(v128.load8x8_s(codes), v128.load(at)));
      codes += CODES;
    }
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
