/** ONNX nodes that read rows, by their indices, from a table stored as integers. */
import type { Tensor } from '../tensor.js';
import { integerRows } from './integer-weights.js';
import type { OnnxBuilder } from './onnx-builder.js';
import { OFFSET, packedRows } from './packed-rows.js';

interface Table {
  /** [rows, width]. */
  readonly table: Tensor;
  readonly values: Float32Array;
}

const ROWS = { axis: { int: 0 } };

/** Rows of a table in 8 bits. */
export function emitIntegerRows(
  builder: OnnxBuilder,
  table: Table,
  indices: string,
  outputs: readonly string[],
): void {
  builder.node('Gather', [restoredTable(builder, table), indices], outputs, ROWS);
}

/**
 * A table of 8 bits per entry, and one scale per row, as float32. Nothing in it depends on an input, so that
 * the runtime computes it once, when it loads the graph: small on disk, and read in one step. Tables that would
 * be large in memory take four bits.
 * @returns the tensor's name.
 */
export function restoredTable(builder: OnnxBuilder, { table, values }: Table): string {
  const [rows = 0, width = 0] = table.shape.map(Number);
  const { integers, scales } = integerRows(values, rows);
  builder.initializer(`${table.name}.integers`, 'int8', [rows, width], integers);
  builder.initializer(`${table.name}.scales`, 'float32', [rows, 1], scales);
  const cast = builder.computed('Cast', [`${table.name}.integers`], {
    to: { int: builder.elementType('float32') },
  });
  return builder.computed('Mul', [cast, `${table.name}.scales`]);
}

/**
 * 4 bits per entry, with a scale per row and per column. ONNX Runtime's GatherBlockQuantized reads four bits,
 * too, but divides three times per entry, which takes several times as long as all of these nodes together.
 */
export function emitPackedRows(
  builder: OnnxBuilder,
  { table, values }: Table,
  indices: string,
  outputs: readonly string[],
): void {
  const [rows = 0, width = 0] = table.shape.map(Number);
  const { bytes, rowScales, columnScales } = packedRows(values, width);
  const [packed, scales, columns] = [`${table.name}.packed`, `${table.name}.scales`, `${table.name}.columns`];
  builder.initializer(packed, 'uint8', [rows, width / 2], bytes);
  builder.initializer(scales, 'float32', [rows, 1], rowScales);
  builder.initializer(columns, 'float32', [width], columnScales);
  const picked = builder.computed('Gather', [packed, indices], ROWS);
  const first = builder.computed('BitwiseAnd', [picked, builder.byte(0b1111)]);
  const second = builder.computed('BitShift', [picked, builder.byte(4)], { direction: { text: 'RIGHT' } });
  const bits = builder.computed('Concat', [first, second], { axis: { int: -1 } });
  const one = builder.floats([1], []);
  const integers = builder.computed('DequantizeLinear', [bits, one, builder.byte(OFFSET)]);
  const ofColumns = builder.computed('Mul', [integers, columns]);
  const pickedScales = builder.computed('Gather', [scales, indices], ROWS);
  builder.node('Mul', [ofColumns, pickedScales], outputs);
}
