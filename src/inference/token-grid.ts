/** An int64 matrix of whole numbers from 0 to 2^31 − 1. [rows, columns] */
export class TokenGrid {
  readonly type = 'int64';
  readonly dims: readonly number[];
  readonly data: BigInt64Array;
  /** Writing only the low halves saves a BigInt per token; every supported platform is little-endian. */
  readonly #halves: Int32Array;

  constructor(rows: number, columns: number) {
    this.dims = [rows, columns];
    this.data = new BigInt64Array(rows * columns);
    this.#halves = new Int32Array(this.data.buffer);
  }

  /** Writes a row; what it lacks at its end is filled with `padding`. */
  setRow(row: number, values: Int32Array, padding: number): void {
    const [, columns = 0] = this.dims;
    const start = row * columns;
    for (let column = 0; column < columns; column += 1) {
      this.#halves[2 * (start + column)] = column < values.length ? (values[column] ?? 0) : padding;
    }
  }

  /** Writes ones, and zeros behind them. */
  setOnes(row: number, count: number): void {
    const [, columns = 0] = this.dims;
    for (let column = 0; column < count; column += 1) this.#halves[2 * (row * columns + column)] = 1;
  }
}
