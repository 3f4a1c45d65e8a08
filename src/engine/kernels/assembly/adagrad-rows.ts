import { F32, VECTOR } from './lanes';

/**
 * One AdaGrad step (Duchi et al. 2011, fig. 1) on the rows of each bag, all of which have the bag's gradient:
 *
 *   squares[ids[i]] += gradients[b]²        table[ids[i]] −= rate · gradients[b] / √squares[ids[i]]
 *
 * for i in [starts[b], starts[b + 1]). Shapes: table, squares [rows, width] with width a multiple of 4,
 * squares above 0; starts [bags + 1]; gradients [bags, width]. Four columns whose gradients are all within
 * ±`ignored` stay as they are.
 */
export function adaGradRows(
  table: usize,
  squares: usize,
  width: i32,
  ids: usize,
  starts: usize,
  bags: i32,
  gradients: usize,
  rate: f32,
  ignored: f32,
): void {
  const rowBytes = <usize>width * F32;
  for (let bag = 0; bag < bags; bag++) {
    const first = ids + <usize>load<u32>(starts + <usize>bag * F32) * F32;
    const end = ids + <usize>load<u32>(starts + <usize>bag * F32, F32) * F32;
    for (let column: usize = 0; column < rowBytes; column += VECTOR) {
      const gradient = v128.load(gradients);
      gradients += VECTOR;
      if (!v128.any_true(f32x4.gt(f32x4.abs(gradient), f32x4.splat(ignored)))) continue;
      const square = f32x4.mul(gradient, gradient);
      const step = f32x4.mul(f32x4.splat(rate), gradient);
      for (let at = first; at < end; at += F32) {
        const offset = <usize>load<u32>(at) * rowBytes + column;
        const sum = f32x4.add(v128.load(squares + offset), square);
        v128.store(squares + offset, sum);
        const weight = v128.load(table + offset);
        v128.store(table + offset, f32x4.sub(weight, f32x4.div(step, f32x4.sqrt(sum))));
      }
    }
  }
}
