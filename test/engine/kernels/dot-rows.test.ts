import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Arena, DOT_STEP, loadKernels } from '../../../src/engine/index.js';

const rowsOf = fc.integer({ min: 0, max: 9 });
const widths = fc.integer({ min: 1, max: 5 }).map((steps) => steps * DOT_STEP);

/** Numbers that a seed makes, whole and at most `most` in size. */
function integers(length: number, most: number, seed: number): number[] {
  return Array.from({ length }, (_, i) => (((i + 1) * 7919 + seed * 104729) % (2 * most + 1)) - most);
}

function dot(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, element, i) => sum + element * (b[i] ?? 0), 0);
}

function row(values: readonly number[], width: number, id: number): number[] {
  return values.slice(id * width, (id + 1) * width);
}

describe('dotByteRows', () => {
  it('is the scaled dot product of every row, exactly', () => {
    fc.assert(
      fc.property(rowsOf, widths, fc.nat(1000), (rows, width, seed) => {
        const arena = new Arena(1 << 16);
        const [codes, query] = [integers(rows * width, 127, seed), integers(width, 2000, seed + 1)];
        const table = arena.int8(rows * width);
        table.set(codes);
        const integerQuery = arena.int16(width);
        integerQuery.set(query);
        const scales = arena.float32(rows).fill(0.5);
        const scores = arena.float32(rows + 1).fill(7);
        loadKernels(arena).dotByteRows(table, scales, integerQuery, scores.subarray(0, rows));
        const expected = Array.from({ length: rows }, (_, id) => dot(row(codes, width, id), query) / 2);
        expect([...scores]).toEqual([...expected, 7]);
      }),
    );
  });

  it('refuses a width that is not a multiple of its step', () => {
    const arena = new Arena(1 << 16);
    const kernels = loadKernels(arena);
    expect(() => kernels.dotByteRows(arena.int8(15), arena.float32(1), arena.int16(15), arena.float32(1))).toThrow(
      'rows of 15',
    );
  });
});

describe('dotRows', () => {
  it('is the dot product of the rows that are named, in their order', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), widths, fc.nat(1000), (rows, width, seed) => {
        const arena = new Arena(1 << 16);
        // Whole numbers this small are added without rounding, whatever the order.
        const [values, query] = [integers(rows * width, 100, seed), integers(width, 100, seed + 1)];
        const table = arena.float32(rows * width);
        table.set(values);
        const floatQuery = arena.float32(width);
        floatQuery.set(query);
        const named = [rows - 1, 0, rows >> 1];
        const ids = arena.int32(3);
        ids.set(named);
        const scores = arena.float32(4).fill(7);
        loadKernels(arena).dotRows(table, ids, floatQuery, scores.subarray(0, 3));
        expect([...scores]).toEqual([...named.map((id) => dot(row(values, width, id), query)), 7]);
      }),
    );
  });
});
