import type { TensorData } from '../../../../src/graph/index.js';

/**
 * Matrices with one number per row. They share one piece of memory, which is too large to be allocated for
 * every batch.
 */
export class OneHotRows {
  #values = new Float32Array();
  #places: readonly number[] = [];

  constructor(private readonly columns: number) {}

  /** @param at the column of each row's number. @returns [rows, columns]; it is valid until the next call. */
  of(at: readonly number[], value: number): TensorData {
    for (const place of this.#places) this.#values[place] = 0;
    const size = at.length * this.columns;
    if (size > this.#values.length) this.#values = new Float32Array(size);
    this.#places = at.map((column, row) => row * this.columns + column);
    for (const place of this.#places) this.#values[place] = value;
    return { type: 'float32', dims: [at.length, this.columns], data: this.#values.subarray(0, size) };
  }
}
