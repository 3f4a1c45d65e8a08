import { F32, VECTOR } from './lanes';

/** Added to an integer of four bits to store it as an unsigned number; OFFSET in graph/onnx/integer-weights.ts. */
const OFFSET: f32 = 8;

/**
 * out[i] = row ids[i] of a table of 4 bits per entry. Shapes: table [any, width / 2], where the lower bits of the bytes are
 * the first half of a row; rowScales [any]; columnScales [width]; out [count, width]. The width is a multiple of 8.
 */
export function gatherPacked(
  table: usize,
  rowScales: usize,
  columnScales: usize,
  width: i32,
  ids: usize,
  count: i32,
  out: usize,
): void {
  const half = <usize>(width >> 1);
  const low = i32x4.splat(15);
  for (let i = 0; i < count; i++, ids += 4) {
    const id = <usize>load<u32>(ids);
    const scale = f32x4.splat(load<f32>(rowScales + id * F32));
    const row = table + id * half;
    for (let column: usize = 0; column < half; column += 4) {
      const bytes = i32x4.extend_low_i16x8_u(i16x8.extend_low_i8x16_u(v128.load32_zero(row + column)));
      putEntries(out + column * F32, v128.and(bytes, low), columnScales + column * F32, scale);
      putEntries(out + (half + column) * F32, i32x4.shr_u(bytes, 4), columnScales + (half + column) * F32, scale);
    }
    out += <usize>width * F32;
  }
}

@inline
function putEntries(out: usize, bits: v128, columnScales: usize, scale: v128): void {
  const integers = f32x4.sub(f32x4.convert_i32x4_s(bits), f32x4.splat(OFFSET));
  v128.store(out, f32x4.mul(f32x4.mul(integers, v128.load(columnScales)), scale));
}

/**
 * out[i] = row ids[i] of a table of signed bytes. Shapes: table [any, width]; rowScales [any]; out [count, width]. The width
 * is a multiple of 4.
 */
export function gatherBytes(table: usize, rowScales: usize, width: i32, ids: usize, count: i32, out: usize): void {
  for (let i = 0; i < count; i++, ids += 4) {
    const id = <usize>load<u32>(ids);
    const scale = f32x4.splat(load<f32>(rowScales + id * F32));
    const end = table + (id + 1) * <usize>width;
    for (let at = table + id * <usize>width; at < end; at += 4, out += VECTOR) {
      const integers = i32x4.extend_low_i16x8_s(i16x8.extend_low_i8x16_s(v128.load32_zero(at)));
      v128.store(out, f32x4.mul(f32x4.convert_i32x4_s(integers), scale));
    }
  }
}

/** out[i] = row ids[i] of a table of float32. Shapes: table [any, width]; out [count, width]. */
export function gatherFloats(table: usize, width: i32, ids: usize, count: i32, out: usize): void {
  const bytes = <usize>width * F32;
  for (let i = 0; i < count; i++, ids += 4, out += bytes) memory.copy(out, table + <usize>load<u32>(ids) * bytes, bytes);
}

/** out[i] += row ids[i] of a table of float32. Shapes: table [any, width]; out [count, width], the width a multiple of 4. */
export function addRows(table: usize, width: i32, ids: usize, count: i32, out: usize): void {
  const bytes = <usize>width * F32;
  for (let i = 0; i < count; i++, ids += 4) {
    const row = table + <usize>load<u32>(ids) * bytes;
    for (let at: usize = 0; at < bytes; at += VECTOR, out += VECTOR) {
      v128.store(out, f32x4.add(v128.load(out), v128.load(row + at)));
    }
  }
}

/** The mean of rows. Shapes: input [rows, width], out [width]; the width is a multiple of 4. */
export function meanRows(input: usize, rows: i32, width: i32, out: usize): void {
  const bytes = <usize>width * F32;
  for (let column: usize = 0; column < bytes; column += VECTOR) {
    let sums = f32x4.splat(0);
    let at = input + column;
    for (let row = 0; row < rows; row++, at += bytes) sums = f32x4.add(sums, v128.load(at));
    v128.store(out + column, f32x4.div(sums, f32x4.splat(<f32>rows)));
  }
}
