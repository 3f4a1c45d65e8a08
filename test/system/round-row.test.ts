import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { quantizeRow } from '../../src/system/number-arrays.js';

describe('numbers rounded to integers with one scale', () => {
  it('are within half a scale of what they were, and the largest reaches the most', () => {
    fc.assert(
      fc.property(
        fc.float32Array({ minLength: 1, maxLength: 20, noNaN: true, noDefaultInfinity: true }),
        fc.constantFrom(63, 127),
        (numbers, most) => {
          const integers = new Int8Array(numbers.length).fill(5);
          const scale = quantizeRow(numbers, most, integers);
          if (scale === 0) {
            expect(integers).toEqual(new Int8Array(numbers.length));
            expect(Math.max(...numbers.map(Math.abs)) / most).toBeLessThan(2 ** -126);
            return;
          }
          expect(Math.max(...Array.from(integers, Math.abs))).toBe(most);
          for (const [at, number] of numbers.entries()) {
            expect(Math.abs(number - (integers[at] ?? 0) * scale)).toBeLessThanOrEqual(scale * (0.5 + most * 2 ** -23));
          }
        },
      ),
    );
  });

  it('reveal a number that is not finite', () => {
    const integers = new Int8Array(2);
    expect(quantizeRow(Float32Array.of(1, Number.NaN), 127, integers)).toBeNaN();
    expect(quantizeRow(Float32Array.of(1, Number.NEGATIVE_INFINITY), 127, integers)).toBe(Number.POSITIVE_INFINITY);
  });
});
