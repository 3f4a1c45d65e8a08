import { F32, VECTOR } from './lanes';

/**
 * sums[b] = Σ table[ids[i]] over i in [starts[b], starts[b + 1]): one sum of rows for each bag of ids.
 * Shapes: table [rows, width] with width a multiple of 4; starts [bags + 1]; sums [bags, width].
 */
export function sumRows(table: usize, width: i32, ids: usize, starts: usize, bags: i32, sums: usize): void {
  const rowBytes = <usize>width * F32;
  for (let bag = 0; bag < bags; bag++) {
    const first = ids + <usize>load<u32>(starts + <usize>bag * F32) * F32;
    const end = ids + <usize>load<u32>(starts + <usize>bag * F32, F32) * F32;
    for (let column: usize = 0; column < rowBytes; column += VECTOR) {
      let sum = f32x4.splat(0);
      for (let at = first; at < end; at += F32) {
        sum = f32x4.add(sum, v128.load(table + <usize>load<u32>(at) * rowBytes + column));
      }
      v128.store(sums, sum);
      sums += VECTOR;
    }
  }
}
