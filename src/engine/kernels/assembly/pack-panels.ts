import { F32 } from './lanes';

/**
 * Weights of 8 bits as the panels that `multiplyBytes` reads. Shapes: weights [inputs, outputs] → panels
 * [outputs / 8, inputs / 2, 8, 2]; inputs are even, outputs a multiple of 8.
 */
export function packBytes(weights: usize, inputs: i32, outputs: i32, panels: usize): void {
  for (let column = 0; column < outputs; column += 8) {
    let from = weights + column;
    for (let input = 0; input < inputs; input += 2, panels += 16) {
      const even = v128.load64_zero(from);
      const odd = v128.load64_zero(from + outputs);
      v128.store(panels, v128.shuffle<i8>(even, odd, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23));
      from += 2 * <usize>outputs;
    }
  }
}

/** Weights [outputs, inputs] as the panels that `multiplyFloats` reads: [outputs / 8, inputs, 8], zeros after the outputs. */
export function packFloats(weights: usize, inputs: i32, outputs: i32, panels: usize): void {
  for (let first = 0; first < outputs; first += 8) {
    for (let input = 0; input < inputs; input++) {
      for (let column = first; column < first + 8; column++, panels += F32) {
        const at = <usize>column * inputs + input;
        store<f32>(panels, column < outputs ? load<f32>(weights + at * F32) : 0);
      }
    }
  }
}
