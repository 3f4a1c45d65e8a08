import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Arena, loadKernels } from '../../../src/engine/index.js';
import { quantizeRow } from '../../../src/system/index.js';

const WIDTH = 16;

describe('quantizeRows', () => {
  it('gives the bytes and scales of each row that quantizeRow gives, halves and broken numbers too', () => {
    const element = fc.oneof(
      fc.float({ min: -2, max: 2 }),
      // The largest of these is 127, so that others are halves of the scale.
      fc.integer({ min: -254, max: 254 }).map((twice) => twice / 2),
      fc.constantFrom(0, -0, 1e-40, 3e38, Number.NaN, Number.POSITIVE_INFINITY),
    );
    const rows = fc.array(fc.array(element, { minLength: WIDTH, maxLength: WIDTH }), { maxLength: 5 });
    fc.assert(
      fc.property(rows, (given) => {
        const arena = new Arena(1 << 14);
        const table = arena.float32(given.length * WIDTH);
        table.set(given.flat());
        const codes = arena.int8(table.length);
        const scales = arena.float32(given.length);
        const largest = loadKernels(arena).quantizeRows(table, codes, scales, 127);
        const expected = new Int8Array(table.length);
        const expectedScales = given.map((_, row) => {
          const [start, end] = [row * WIDTH, (row + 1) * WIDTH];
          return quantizeRow(table.subarray(start, end), 127, expected.subarray(start, end));
        });
        expect(codes).toEqual(expected);
        expect([...scales]).toEqual(expectedScales);
        expect(largest).toBe(table.reduce((most, value) => Math.max(most, Math.abs(value)), 0));
      }),
    );
  });
});
