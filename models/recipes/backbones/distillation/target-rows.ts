import { closeSync, openSync, readSync } from 'node:fs';
import { quantizeVector } from '../../../../src/families/index.js';

/**
 * Vectors as they are stored: for each row, its numbers as bytes and then, as float32, the scale that they were
 * divided by.
 */

const SCALE_BYTES = 4;

export const rowBytes = (width: number): number => width + SCALE_BYTES;

/** Writes a vector as the row at this place. */
export function writeRow(rows: Buffer, row: number, vector: Float32Array): void {
  const width = vector.length;
  const start = row * rowBytes(width);
  const codes = new Int8Array(rows.buffer, rows.byteOffset + start, width);
  rows.writeFloatLE(quantizeVector(vector, codes), start + width);
}

/** A file of rows, read where it is needed: all targets together are larger than the memory. */
export class RowFile {
  readonly #file: number;
  #bytes = Buffer.alloc(0);

  constructor(
    path: string,
    /** Numbers of a row. */
    readonly width: number,
  ) {
    this.#file = openSync(path, 'r');
  }

  /**
   * The rows from `first` on, whose memory the next call uses again.
   * @throws Error if the file ends before.
   */
  read(first: number, count: number): { codes(row: number): Int8Array; scale(row: number): number } {
    const stride = rowBytes(this.width);
    const size = count * stride;
    if (this.#bytes.length < size) this.#bytes = Buffer.alloc(size);
    const read = readSync(this.#file, this.#bytes, 0, size, first * stride);
    if (read < size) throw new Error(`row ${first} and ${count - 1} more: the file of targets ends before`);
    const { buffer, byteOffset } = this.#bytes;
    const bytes = this.#bytes;
    return {
      codes: (row) => new Int8Array(buffer, byteOffset + row * stride, this.width),
      scale: (row) => bytes.readFloatLE(row * stride + this.width),
    };
  }

  close(): void {
    closeSync(this.#file);
  }
}
