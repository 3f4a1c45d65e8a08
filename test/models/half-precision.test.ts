import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeHalfPrecision, toFloat16Bits } from '../../models/recipes/english-mini/half-precision.js';
import { decodeSafetensors } from '../../src/model-folder/index.js';

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

  it('keeps weights to one part in 2,048, in a file that our reader reads', () => {
    const weight = fc.float({ min: -10, max: 10, noNaN: true });
    fc.assert(
      fc.property(fc.array(weight, { minLength: 1, maxLength: 20 }), (numbers) => {
        const values = Float32Array.from(numbers);
        const bytes = encodeHalfPrecision(new Map([['w', { shape: [values.length], values }]]));
        const read = decodeSafetensors(bytes, 'model.safetensors')._unsafeUnwrap().tensors.get('w')?.values;
        for (const [at, value] of values.entries()) {
          const bound = Math.max(Math.abs(value) / 2048, 2 ** -25);
          expect(Math.abs((read?.[at] ?? Number.NaN) - value)).toBeLessThanOrEqual(bound);
        }
      }),
    );
  });
});
