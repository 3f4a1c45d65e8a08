import { F32, VECTOR } from './lanes';

/** Columns of a panel: two vectors of sums. */
const PANEL = 8;

@inline
function plus(sums: v128, x: v128, weights: v128): v128 {
  return f32x4.add(sums, f32x4.mul(x, weights));
}

/**
 * out = input · weights + bias. Shapes: input [rows, inputs]; panels [outputs / 8, inputs, 8], as `packFloats` makes them of
 * weights; bias [outputs]; out [rows, stride]. Outputs are a multiple of 8.
 */
export function multiplyFloats(
  input: usize,
  rows: i32,
  inputs: i32,
  panels: usize,
  bias: usize,
  outputs: i32,
  out: usize,
  stride: i32,
): void {
  const rowBytes = <usize>inputs * F32;
  const strideBytes = <usize>stride * F32;
  for (let column = 0; column < outputs; column += PANEL) {
    const end = panels + rowBytes * PANEL;
    const bias0 = v128.load(bias);
    const bias1 = v128.load(bias, VECTOR);
    bias += 2 * VECTOR;
    let first = input;
    let to = out + <usize>column * F32;
    let row = rows;
    for (; row >= 4; row -= 4) {
      let a = first;
      let b = a + rowBytes;
      let c = b + rowBytes;
      let d = c + rowBytes;
      first = d + rowBytes;
      let a0 = bias0;
      let a1 = bias1;
      let b0 = bias0;
      let b1 = bias1;
      let c0 = bias0;
      let c1 = bias1;
      let d0 = bias0;
      let d1 = bias1;
      let weights = panels;
      do {
        const w0 = v128.load(weights);
        const w1 = v128.load(weights, VECTOR);
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
        a += F32;
        b += F32;
        c += F32;
        d += F32;
        weights += 2 * VECTOR;
      } while (weights < end);
      v128.store(to, a0);
      v128.store(to, a1, VECTOR);
      to += strideBytes;
      v128.store(to, b0);
      v128.store(to, b1, VECTOR);
      to += strideBytes;
      v128.store(to, c0);
      v128.store(to, c1, VECTOR);
      to += strideBytes;
      v128.store(to, d0);
      v128.store(to, d1, VECTOR);
      to += strideBytes;
    }
    for (; row; row--) {
      let a = first;
      first += rowBytes;
      let a0 = bias0;
      let a1 = bias1;
      let weights = panels;
      do {
        const x = v128.load32_splat(a);
        a0 = plus(a0, x, v128.load(weights));
        a1 = plus(a1, x, v128.load(weights, VECTOR));
        a += F32;
        weights += 2 * VECTOR;
      } while (weights < end);
      v128.store(to, a0);
      v128.store(to, a1, VECTOR);
      to += strideBytes;
    }
    panels = end;
  }
}
