import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromFloat16Bits, toFloat16Bits } from '../../src/models/safetensors.js';

describe('float16', () => {
  it.each([
    [0, 0x0000],
    [-0, 0x8000],
    [1, 0x3c00],
    [-2, 0xc000],
    [65504, 0x7bff],
    [65520, 0x7c00],
    [2 ** -14, 0x0400],
    [2 ** -24, 0x0001],
    [2 ** -25, 0x0000],
    [1 + 2 ** -11, 0x3c00],
    [1 + 3 * 2 ** -11, 0x3c02],
    [Number.NEGATIVE_INFINITY, 0xfc00],
    [Number.NaN, 0x7e00],
  ])('writes %d as %d', (value, bits) => {
    expect(toFloat16Bits(value)).toBe(bits);
  });

  it('writes what it read, whatever the bits', () => {
    const all = Uint16Array.from({ length: 0x10000 }, (_, bits) => bits);
    const values = fromFloat16Bits(all);
    const isNumber = (bits: number) => (bits & 0x7fff) <= 0x7c00;
    expect(all.filter((bits) => Number.isNaN(values[bits]) === isNumber(bits))).toHaveLength(0);
    const changed = all.filter((bits) => isNumber(bits) && toFloat16Bits(values[bits] ?? 0) !== bits);
    expect(changed).toHaveLength(0);
  });

  it('keeps numbers to one part in 2,048, or 2⁻²⁵ near 0', () => {
    fc.assert(
      fc.property(fc.float({ min: -60_000, max: 60_000, noNaN: true }), (value) => {
        const bound = Math.max(Math.abs(value) / 2048, 2 ** -25);
        expect(Math.abs((fromFloat16Bits(Uint16Array.of(toFloat16Bits(value)))[0] ?? 0) - value)).toBeLessThanOrEqual(
          bound,
        );
      }),
    );
  });
});
