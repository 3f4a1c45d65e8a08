import { describe, expect, it } from 'vitest';
import { Graph, onnxExecutor, type TableBits } from '../../src/graph/index.js';
import { packedRows } from '../../src/graph/onnx/integer-weights.js';
import { Random } from '../../src/system/numbers.js';
import { toOnnx } from '../support/to-onnx.js';

/** Tables of 4 bits an entry. */

const random = Random.fromSeed(11);
const normals = (count: number) => Float32Array.from({ length: count }, () => random.normal());

/** Rows of a table read by ids [a, b]. */
function lookup(rows: number, width: number) {
  const graph = new Graph();
  const table = graph.parameter('table', [rows, width]);
  graph.output('y', graph.gather(table, graph.input('ids', 'int64', ['a', 'b'])));
  return graph;
}

const inBits = (bits: TableBits) => ({ linear: new Map(), tables: new Map([['table', bits]]) });

/** What a graph whose table has so many bits gives for each id. */
async function looksUp(bits: TableBits, table: Float32Array, width: number, ids: readonly number[][]) {
  const weights = new Map([['table', table]]);
  const compiled = await onnxExecutor().compile(lookup(table.length / width, width), {
    weights,
    quantization: inBits(bits),
  });
  const dims = [ids.length, ids[0]?.length ?? 0];
  const data = new Float32Array(ids.flat().length * width);
  const feed = { type: 'int64', dims, data: BigInt64Array.from(ids.flat(), BigInt) } as const;
  await compiled.run({ ids: feed }, { y: { type: 'float32', dims: [...dims, width], data } });
  await compiled.release();
  return data;
}

/** ‖a − b‖ / ‖b‖. */
const distance = (a: Float32Array, b: Float32Array) =>
  Math.hypot(...a.map((value, at) => value - (b[at] ?? Number.NaN))) / Math.hypot(...b);

/** What a packed table's bits and scales come to. */
function unpacked(table: Float32Array, width: number): Float32Array {
  const { bytes, rowScales, columnScales } = packedRows(table, width);
  return table.map((_, at) => {
    const [row, column] = [Math.floor(at / width), at % width];
    const byte = bytes[(row * width) / 2 + (column % (width / 2))] ?? 0;
    const bits = column < width / 2 ? byte % 16 : Math.floor(byte / 16);
    return (bits - 8) * (rowScales[row] ?? 0) * (columnScales[column] ?? 0);
  });
}

const ids = [
  [15, 0, 3],
  [3, 1, 7],
];

describe('a table in 4 bits', () => {
  it.each([16, 48, 256])('gives entries on sixteen steps of row and column as they were: width %i', async (width) => {
    // Every row and column has each of the sixteen integers; one row's reach from 8 to −7.
    const table = Float32Array.from({ length: 16 * width }, (_, at) => {
      const [row, column] = [Math.floor(at / width), at % width];
      const integer = ((row + 5 * column) % 16) - 8;
      return integer * (1 + (column % 7)) * (row === 3 ? -0.1 : 0.1);
    });
    const expected = ids.flat().flatMap((id) => [...table.subarray(id * width, (id + 1) * width)]);
    expect(distance(await looksUp(4, table, width, ids), Float32Array.from(expected))).toBeLessThan(1e-6);
  });

  it('gives what its bits and scales come to by hand', async () => {
    const width = 10;
    const table = normals(16 * width);
    const values = unpacked(table, width);
    const expected = ids.flat().flatMap((id) => [...values.subarray(id * width, (id + 1) * width)]);
    expect(distance(await looksUp(4, table, width, ids), Float32Array.from(expected))).toBeLessThan(1e-6);
  });

  it('is off by no more than the best uniform steps for normal numbers', () => {
    // 16 steps: 0.1074 of the standard deviation (Max 1960, table II). The largest of 256 as the last step: 0.125.
    const table = normals(200 * 256);
    expect(distance(unpacked(table, 256), table)).toBeLessThan(0.1074);
  });

  it('has for each row the scale with the least error of all that are tried', () => {
    const width = 64;
    const table = normals(20 * width);
    const { rowScales, columnScales } = packedRows(table, width);
    for (const [row, given] of rowScales.entries()) {
      const entries = Array.from(
        { length: width },
        (_, at) => (table[row * width + at] ?? 0) / (columnScales[at] ?? 1),
      );
      const errorOf = (scale: number) =>
        entries.reduce((sum, entry) => {
          const integer = Math.min(7, Math.max(-8, Math.round(entry / scale)));
          return sum + (entry - scale * integer) ** 2;
        }, 0);
      const largest = Math.max(...entries.map(Math.abs));
      const tried = [1, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5].flatMap((share) => [
        (share * largest) / 8,
        (-share * largest) / 8,
      ]);
      expect(errorOf(given)).toBeLessThan(Math.min(...tried.map(errorOf)) * (1 + 1e-5));
    }
  });

  it('loses nothing to columns that are many times as large', () => {
    const table = normals(200 * 256).map((value, at) => value * (at % 256 < 4 ? 20 : 1));
    const small = (values: Float32Array) => values.filter((_, at) => at % 256 >= 4);
    const given = unpacked(table, 256);
    expect(distance(small(given), small(table))).toBeLessThan(0.11);
  });

  it('keeps zeros', () => {
    const table = normals(4 * 8).map((value, at) => (at < 8 || at % 8 === 5 ? 0 : value));
    const given = unpacked(table, 8);
    expect(given.every(Number.isFinite)).toBe(true);
    expect(given.filter((_, at) => at < 8 || at % 8 === 5).every((value) => Math.abs(value) === 0)).toBe(true);
  });

  it('takes 8 bits if the width is odd', async () => {
    const table = normals(16 * 33);
    expect(await looksUp(4, table, 33, ids)).toEqual(await looksUp(8, table, 33, ids));
  });

  it('takes half the size of one in 8 bits', async () => {
    const weights = new Map([['table', new Float32Array(1000 * 256)]]);
    const size = async (bits: TableBits) => (await toOnnx(lookup(1000, 256), weights, inBits(bits))).length;
    expect((await size(4)) / (await size(8))).toBeCloseTo(0.5, 1);
  });
});
