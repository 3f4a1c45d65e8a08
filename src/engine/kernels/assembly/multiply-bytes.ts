import { F32, I16, VECTOR } from './lanes';

/** Columns of a panel: two vectors of sums. */
const PANEL = 8;

/** Two products of each lane, added to sums. */
@inline
function plus(sums: v128, x: v128, weights: v128): v128 {
  return i32x4.add(sums, i32x4.dot_i16x8_s(x, weights));
}

/**
 * sums = input · weights, in integers. Shapes: input [rows, inputs] of 16 bits; panels [outputs / 8, inputs / 2, 8, 2] of 8
 * bits, as `packBytes` makes them of weights; sums [rows, stride] of 32 bits. Inputs are a multiple of 4, outputs of 8. For
 * factors of 9 and 8 bits, sums fit up to 66,000 inputs.
 */
export function multiplyBytes(
  input: usize,
  rows: i32,
  inputs: i32,
  panels: usize,
  outputs: i32,
  sums: usize,
  stride: i32,
): void {
  const rowBytes = <usize>inputs * I16;
  const strideBytes = <usize>stride * F32;
  for (let column = 0; column < outputs; column += PANEL) {
    const end = panels + <usize>inputs * PANEL;
    let first = input;
    let out = sums + <usize>column * F32;
    let row = rows;
    for (; row >= 4; row -= 4) {
      let a = first;
      let b = a + rowBytes;
      let c = b + rowBytes;
      let d = c + rowBytes;
      first = d + rowBytes;
      let a0 = i32x4.splat(0);
      let a1 = i32x4.splat(0);
      let b0 = i32x4.splat(0);
      let b1 = i32x4.splat(0);
      let c0 = i32x4.splat(0);
      let c1 = i32x4.splat(0);
      let d0 = i32x4.splat(0);
      let d1 = i32x4.splat(0);
      let weights = panels;
      do {
        const w0 = v128.load8x8_s(weights);
        const w1 = v128.load8x8_s(weights, 8);
        let x = v128.load32_splat(a);
        a0 = plus(a0, x, w0);
        a1 = plus(a1, x, w1);
        x = v128.load32_splat(b);
        b0 = plus(b0, x, w0);
        b1 = plus(b1, x, w1);
        x = v128.load32_splat(c);
        c0 = plus(c0, x, w0);
        c1 = plus(c1, x, w1);
        x = v128.load32_splat(d);
        d0 = plus(d0, x, w0);
        d1 = plus(d1, x, w1);
        a += 4;
        b += 4;
        c += 4;
        d += 4;
        weights += VECTOR;
      } while (weights < end);
      v128.store(out, a0);
      v128.store(out, a1, VECTOR);
      out += strideBytes;
      v128.store(out, b0);
      v128.store(out, b1, VECTOR);
      out += strideBytes;
      v128.store(out, c0);
      v128.store(out, c1, VECTOR);
      out += strideBytes;
      v128.store(out, d0);
      v128.store(out, d1, VECTOR);
      out += strideBytes;
    }
    if (row >= 2) {
      row -= 2;
      let a = first;
      let b = a + rowBytes;
      first = b + rowBytes;
      let a0 = i32x4.splat(0);
      let a1 = i32x4.splat(0);
      let b0 = i32x4.splat(0);
      let b1 = i32x4.splat(0);
      let weights = panels;
      do {
        const w0 = v128.load8x8_s(weights);
        const w1 = v128.load8x8_s(weights, 8);
        let x = v128.load32_splat(a);
        a0 = plus(a0, x, w0);
        a1 = plus(a1, x, w1);
        x = v128.load32_splat(b);
        b0 = plus(b0, x, w0);
        b1 = plus(b1, x, w1);
        a += 4;
        b += 4;
        weights += VECTOR;
      } while (weights < end);
      v128.store(out, a0);
      v128.store(out, a1, VECTOR);
      out += strideBytes;
      v128.store(out, b0);
      v128.store(out, b1, VECTOR);
      out += strideBytes;
    }
    if (row) {
      let a = first;
      let a0 = i32x4.splat(0);
      let a1 = i32x4.splat(0);
      let weights = panels;
      do {
        const x = v128.load32_splat(a);
        a0 = plus(a0, x, v128.load8x8_s(weights));
        a1 = plus(a1, x, v128.load8x8_s(weights, 8));
        a += 4;
        weights += VECTOR;
      } while (weights < end);
      v128.store(out, a0);
      v128.store(out, a1, VECTOR);
    }
    panels = end;
  }
}
