import { quantizeRow } from '../../system/index.js';

/** Float32 weights as 8-bit integers, with the scales that restore them. */

/**
 * Largest magnitude of a weight in an integer product. Processors without VNNI add pairs of products in 16
 * bits: 8-bit weights would overflow them, 7-bit weights never do (ONNX Runtime's "reduce range").
 */
const MAX_FACTOR = 63;
/** Largest magnitude of an entry of a table, which is read but not multiplied as integers. */
const MAX_ENTRY = 127;
/** Steps of a rounded input, which is an unsigned byte. */
const INPUT_STEPS = 255;

interface IntegerMatrix {
  readonly integers: Int8Array;
  /** One per row of the float32 matrix: row ≈ scale · integers. */
  readonly scales: Float32Array;
}

/** Rows of a table [rows, width] as integers, each with its own scale. */
export function integerRows(values: Float32Array, rows: number): IntegerMatrix {
  return rounded(values, rows, MAX_ENTRY);
}

/** A linear layer's weight [outputs, inputs], transposed to [inputs, outputs] for the integer product. */
export function integerFactor(values: Float32Array, outputs: number): IntegerMatrix {
  const { integers, scales } = rounded(values, outputs, MAX_FACTOR);
  const inputs = values.length / outputs;
  const transposed = new Int8Array(integers.length);
  for (let output = 0; output < outputs; output += 1) {
    for (let input = 0; input < inputs; input += 1) {
      transposed[input * outputs + output] = integers[output * inputs + input] ?? 0;
    }
  }
  return { integers: transposed, scales };
}

/** The table [rows, width] that {@link integerRows} rounded. */
export function restoredRows({ integers, scales }: IntegerMatrix): Float32Array {
  const width = integers.length / scales.length;
  return Float32Array.from(integers, (integer, at) => integer * (scales[Math.floor(at / width)] ?? 0));
}

/** The weight [outputs, inputs] that {@link integerFactor} rounded. */
export function restoredFactor({ integers, scales }: IntegerMatrix): Float32Array {
  const outputs = scales.length;
  const inputs = integers.length / outputs;
  const values = new Float32Array(integers.length);
  for (const [output, scale] of scales.entries()) {
    for (let input = 0; input < inputs; input += 1) {
      values[output * inputs + input] = scale * (integers[input * outputs + output] ?? 0);
    }
  }
  return values;
}

/** How a value x of a range is rounded to an unsigned byte: round(x / scale) + zero. */
export function inputRounding({ min, max }: { readonly min: number; readonly max: number }): {
  readonly scale: number;
  readonly zero: number;
} {
  // Rounded to float32, since the graph divides by a float32.
  const scale = Math.fround((max - min) / INPUT_STEPS) || 1;
  return { scale, zero: Math.round(-min / scale) };
}

function rounded(values: Float32Array, rows: number, largest: number): IntegerMatrix {
  const width = values.length / rows;
  const integers = new Int8Array(values.length);
  const scales = Float32Array.from({ length: rows }, (_, row) => {
    const [start, end] = [row * width, (row + 1) * width];
    // Something is divided by the scale, so it must not be 0.
    return quantizeRow(values.subarray(start, end), largest, integers.subarray(start, end)) || 1;
  });
  return { integers, scales };
}
