import type { NamedTensor } from '../../models/index.js';
import { quantizeRow } from '../../system/index.js';
import { decodeModel, ElementTypeCode, type StoredNode, type StoredTensor } from './schema.js';

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

function restoredRows({ integers, scales }: IntegerMatrix): Float32Array {
  const width = integers.length / scales.length;
  return Float32Array.from(integers, (integer, at) => integer * (scales[Math.floor(at / width)] ?? 0));
}

/** The weight [outputs, inputs] that {@link integerFactor} rounded. */
function restoredFactor({ integers, scales }: IntegerMatrix): Float32Array {
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

/** A float32 table as 4-bit integers, two per byte, with the scales of its rows and columns that restore it. */

/** Added to an integer to store it as an unsigned number of four bits. */
export const OFFSET = 8;
const LEAST = -OFFSET;
const MOST = OFFSET - 1;
/** Candidates for the magnitude that becomes −8, as shares of a row's largest; each with both signs. */
const SHARES = [1, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5];

/** entry ≈ row's scale · column's scale · (bits − OFFSET). */
export interface PackedTable {
  /** [rows, width / 2]: the lower four bits belong to a row's first half, the upper four to its second. */
  readonly bytes: Uint8Array;
  /** May be negative. */
  readonly rowScales: Float32Array;
  /** Some columns are many times as large as others, and would leave them few steps. */
  readonly columnScales: Float32Array;
}

/** Whether rows can be split into halves. */
export const isPackable = (width: number): boolean => width % 2 === 0;

/** @param width of a row, even. */
export function packedRows(values: Float32Array, width: number): PackedTable {
  const rows = values.length / width;
  const half = width / 2;
  const columnScales = columnSizes(values, width);
  const rowScales = new Float32Array(rows);
  const bytes = new Uint8Array(rows * half);
  for (let row = 0; row < rows; row += 1) {
    const start = row * width;
    const entries = values.subarray(start, start + width).map((value, column) => value / (columnScales[column] ?? 1));
    const scale = scaleOf(entries);
    rowScales[row] = scale;
    const bitsOf = (column: number) => packedRowsRounded(entries[column] ?? 0, scale) + OFFSET;
    for (let column = 0; column < half; column += 1) {
      bytes[row * half + column] = bitsOf(column) | (bitsOf(column + half) << 4);
    }
  }
  return { bytes, rowScales, columnScales };
}

/** The float32 table, up to what rounding has lost. */
function unpackedRows({ bytes, rowScales, columnScales }: PackedTable): Float32Array {
  const width = columnScales.length;
  const half = width / 2;
  const values = new Float32Array(rowScales.length * width);
  for (const [at, pair] of bytes.entries()) {
    const row = Math.floor(at / half);
    const scale = rowScales[row] ?? 0;
    for (const [column, bits] of [
      [at % half, pair & 0b1111],
      [(at % half) + half, pair >> 4],
    ] as const) {
      values[row * width + column] = scale * ((columnScales[column] ?? 0) * (bits - OFFSET));
    }
  }
  return values;
}

/** Root mean square of each column; 1 for a column of zeros. */
function columnSizes(values: Float32Array, width: number): Float32Array {
  const sums = new Float64Array(width);
  for (let at = 0; at < values.length; at += 1) {
    sums[at % width] = (sums[at % width] ?? 0) + (values[at] ?? 0) ** 2;
  }
  return Float32Array.from(sums, (sum) => Math.sqrt((sum * width) / values.length) || 1);
}

/** The candidate scale with the least squared error; 1 for a row of zeros. */
function scaleOf(entries: Float32Array): number {
  const row = new SortedRow(entries);
  if (row.largest === 0) return 1;
  let best = 1;
  let leastError = Number.POSITIVE_INFINITY;
  for (const share of SHARES) {
    const step = Math.fround((share * row.largest) / OFFSET);
    for (const sign of [-1, 1]) {
      const error = row.squaredError(step, sign < 0 ? -MOST : LEAST);
      if (error < leastError) [best, leastError] = [sign * step, error];
    }
  }
  return best;
}

/** Entries in ascending order, with their sums so far: the error of a scale needs no look at each entry. */
class SortedRow {
  readonly #entries: Float32Array;
  /** Of the first entries. [entries + 1] */
  readonly #sums: Float64Array;
  readonly #squares: number;

  constructor(entries: Float32Array) {
    this.#entries = entries.toSorted();
    this.#sums = new Float64Array(entries.length + 1);
    let squares = 0;
    for (let at = 0; at < entries.length; at += 1) {
      const entry = this.#entries[at] ?? 0;
      this.#sums[at + 1] = (this.#sums[at] ?? 0) + entry;
      squares += entry * entry;
    }
    this.#squares = squares;
  }

  get largest(): number {
    return Math.max(Math.abs(this.#entries[0] ?? 0), Math.abs(this.#entries.at(-1) ?? 0));
  }

  /** Of rounding each entry to the nearest of the 16 multiples of `step` from `lowest` on. */
  squaredError(step: number, lowest: number): number {
    const highest = lowest + MOST - LEAST;
    let error = this.#squares;
    let start = 0;
    for (let multiple = lowest; multiple <= highest; multiple += 1) {
      const end = multiple === highest ? this.#entries.length : this.#firstFrom((multiple + 0.5) * step, start);
      const sum = (this.#sums[end] ?? 0) - (this.#sums[start] ?? 0);
      const value = multiple * step;
      error += value * ((end - start) * value - 2 * sum);
      start = end;
    }
    return error;
  }

  /** Position of the first entry that is at least so large. @param start where to look from */
  #firstFrom(limit: number, start: number): number {
    let [low, high] = [start, this.#entries.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#entries[middle] ?? 0) < limit) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

const packedRowsRounded = (value: number, scale: number): number =>
  Math.min(MOST, Math.max(LEAST, Math.round(value / scale)));

/** A linear layer as a graph in 8 bits stores it: scale_x · scale_W[n] · Σ (x − zero) · W + bias. */
export interface StoredLayer {
  /** [inputs, outputs] */
  readonly integers: Int8Array;
  /** Of the weights. [outputs] */
  readonly scales: Float32Array;
  /** [outputs]; undefined: none. */
  readonly bias: Float32Array | undefined;
  /** How the input is rounded, as {@link inputRounding} says. */
  readonly input: { readonly scale: number; readonly zero: number };
}

/** A table as a graph in 8 bits stores it. */
export type StoredTable =
  | ({ readonly kind: 'packed' } & PackedTable)
  | ({ readonly kind: 'bytes'; readonly shape: readonly number[] } & IntegerMatrix);

/** What an `.onnx` file holds, by the parameters' names. */
export interface StoredModel {
  readonly layers: ReadonlyMap<string, StoredLayer>;
  readonly tables: ReadonlyMap<string, StoredTable>;
  /** All that is stored in float32. */
  readonly floats: ReadonlyMap<string, NamedTensor>;
}

/** @param bytes of an `.onnx` file that this library wrote, weights included. @throws Error if it is none, or lacks a part. */
export function storedModel(bytes: Uint8Array): StoredModel {
  const model = decodeModel(bytes);
  if (model === undefined) throw new Error('is not a graph that this library wrote');
  const { node, initializer } = model.graph;
  return new StoredGraph(initializer).model(node);
}

/** All weights in float32. @throws as {@link storedModel} */
export async function restoredWeights(bytes: Uint8Array): Promise<ReadonlyMap<string, NamedTensor>> {
  const { layers, tables, floats } = storedModel(bytes);
  const weights = new Map<string, NamedTensor>();
  for (const [name, { integers, scales, bias }] of layers) {
    const shape = [scales.length, integers.length / scales.length];
    weights.set(name, { shape, values: restoredFactor({ integers, scales }) });
    if (bias) weights.set(biasOf(name), { shape: [scales.length], values: bias });
  }
  for (const [name, table] of tables) weights.set(name, restoredTable(table));
  for (const [name, tensor] of floats) if (!weights.has(name)) weights.set(name, tensor);
  return weights;
}

function restoredTable(table: StoredTable): NamedTensor {
  if (table.kind === 'bytes') return { shape: table.shape, values: restoredRows(table) };
  return { shape: [table.rowScales.length, table.columnScales.length], values: unpackedRows(table) };
}

/** Nodes with a linear layer's weight as integers, and which inputs are what. */
interface LinearForm {
  readonly integers: number;
  readonly scales: number;
  readonly bias: number;
  readonly inputScale: number;
  readonly inputZero: number;
  /** Whether the bias counts in steps of the input's scale times the weight's. */
  readonly hasIntegerBias: boolean;
}
const LINEAR: Readonly<Record<string, LinearForm>> = {
  MatMulIntegerToFloat: { integers: 1, scales: 3, bias: 6, inputScale: 2, inputZero: 4, hasIntegerBias: false },
  // In models of the catalogue.
  QGemm: { integers: 3, scales: 4, bias: 6, inputScale: 1, inputZero: 2, hasIntegerBias: true },
};

class StoredGraph {
  readonly #tensors: ReadonlyMap<string, StoredTensor>;

  constructor(tensors: readonly StoredTensor[]) {
    this.#tensors = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  }

  model(nodes: readonly StoredNode[]): StoredModel {
    const layers = new Map<string, StoredLayer>();
    for (const node of nodes) this.#addLayer(node, layers);
    const tables = new Map<string, StoredTable>();
    const floats = new Map<string, NamedTensor>();
    for (const tensor of this.#tensors.values()) {
      const { name, dims } = tensor;
      const table = name.replace(/\.(?:integers|packed)$/u, '');
      if (name.endsWith('.packed')) tables.set(table, this.#packed(tensor, table));
      else if (name.endsWith('.integers') && !layers.has(table)) tables.set(table, this.#rows(tensor, table));
      else if (tensor.dataType === ElementTypeCode.float32) floats.set(name, { shape: dims, values: floatsOf(tensor) });
    }
    return { layers, tables, floats };
  }

  #addLayer({ opType, input }: StoredNode, layers: Map<string, StoredLayer>): void {
    const form = LINEAR[opType];
    if (form === undefined) return;
    const integers = this.#tensor(input[form.integers] ?? '');
    const weight = integers.name.replace(/\.integers$/u, '');
    if (layers.has(weight)) return;
    const scaleName = input[form.scales] ?? '';
    const stored = floatsOf(this.#tensor(scaleName));
    const factor = factorOf(scaleName);
    const [scale = 1] = floatsOf(this.#tensor(input[form.inputScale] ?? ''));
    const [zero = 0] = this.#tensor(input[form.inputZero] ?? '').rawData;
    layers.set(weight, {
      integers: bytesOf(integers),
      scales: stored.map((each) => each / factor),
      bias: input[form.bias] ? this.#bias(this.#tensor(input[form.bias] ?? ''), form, stored, scale) : undefined,
      input: { scale, zero },
    });
  }

  #bias(bias: StoredTensor, { hasIntegerBias }: LinearForm, scales: Float32Array, step: number): Float32Array {
    if (hasIntegerBias) return scales.map((scale, at) => stepsOf(bias, at) * step * scale);
    const factor = factorOf(bias.name);
    return floatsOf(bias).map((value) => value / factor);
  }

  #packed({ rawData }: StoredTensor, table: string): StoredTable {
    const rowScales = floatsOf(this.#tensor(`${table}.scales`));
    const columnScales = floatsOf(this.#tensor(`${table}.columns`));
    return { kind: 'packed', bytes: rawData, rowScales, columnScales };
  }

  #rows(tensor: StoredTensor, table: string): StoredTable {
    const scales = floatsOf(this.#tensor(`${table}.scales`));
    return { kind: 'bytes', shape: tensor.dims, integers: bytesOf(tensor), scales };
  }

  #tensor(name: string): StoredTensor {
    const tensor = this.#tensors.get(name);
    if (tensor === undefined) throw new Error(`lacks the tensor ${JSON.stringify(name)}`);
    return tensor;
  }
}

/** A layer's output may be multiplied by a number, which the stored scales contain; their name ends with it. */
const factorOf = (name: string): number => Number(/ (?<factor>[-+.e\d]+)$/u.exec(name)?.groups?.factor ?? 1);

export const biasOf = (weight: string): string => weight.replace(/weight$/u, 'bias');

/** A copy, which is aligned. Every supported platform is little-endian, as the file is. */
const floatsOf = ({ rawData }: StoredTensor): Float32Array => new Float32Array(new Uint8Array(rawData).buffer);

const bytesOf = ({ rawData: { buffer, byteOffset, byteLength } }: StoredTensor): Int8Array =>
  new Int8Array(buffer, byteOffset, byteLength);

function stepsOf({ rawData }: StoredTensor, at: number): number {
  return new DataView(rawData.buffer, rawData.byteOffset, rawData.byteLength).getInt32(4 * at, true);
}
