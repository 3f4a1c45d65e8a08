import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { largestError, quantizeQuery, quantizeVector } from '../../../src/families/retrieval/vector-index.js';

const vector = fc
  .array(fc.float({ min: -2, max: 2, noNaN: true }), { minLength: 1, maxLength: 600 })
  .map((elements) => Float32Array.from(elements))
  .filter((elements) => elements.some((element) => Math.abs(element) > 1e-6));

describe('quantizeVector', () => {
  it('is off by half a step at most, and uses the whole range', () => {
    fc.assert(
      fc.property(vector, (elements) => {
        const codes = new Int8Array(elements.length);
        const scale = quantizeVector(elements, codes);
        for (const [i, element] of elements.entries()) {
          expect(Math.abs((codes[i] ?? 0) * scale - element)).toBeLessThanOrEqual(0.5001 * scale);
        }
        expect(codes.reduce((most, code) => Math.max(most, Math.abs(code)), 0)).toBe(127);
      }),
    );
  });
});

describe('quantizeQuery', () => {
  it('never lets a dot product with bytes leave 32 bits, and wastes little of them', () => {
    fc.assert(
      fc.property(vector, (elements) => {
        const integers = new Int16Array(elements.length);
        quantizeQuery(elements, integers);
        const largest = integers.reduce((most, integer) => Math.max(most, Math.abs(integer)), 0);
        expect(largest * 127 * elements.length).toBeLessThan(2 ** 31);
        expect(largest).toBeGreaterThan(25_000);
      }),
    );
  });

  it('clears what an earlier query left', () => {
    const integers = Int16Array.of(5, 6);
    expect(quantizeQuery(new Float32Array(2), integers)).toBe(0);
    expect([...integers]).toEqual([0, 0]);
  });
});

describe('largestError', () => {
  it('is never less than how far the product of codes and integers is from that of the vectors', () => {
    const pair = vector.chain((elements) =>
      fc.record({
        elements: fc.constant(elements),
        query: fc
          .array(fc.float({ min: -2, max: 2, noNaN: true }), {
            minLength: elements.length,
            maxLength: elements.length,
          })
          .map((values) => Float32Array.from(values)),
      }),
    );
    fc.assert(
      fc.property(pair, ({ elements, query }) => {
        const codes = new Int8Array(elements.length);
        const integers = new Int16Array(elements.length);
        const scale = quantizeVector(elements, codes);
        const queryScale = quantizeQuery(query, integers);
        let exact = 0;
        let rounded = 0;
        for (const [i, element] of elements.entries()) {
          exact += element * (query[i] ?? 0);
          rounded += (codes[i] ?? 0) * (integers[i] ?? 0);
        }
        const off = Math.abs(exact - rounded * scale * queryScale);
        // Queries of zeros, or nearly so, have no integers.
        if (queryScale > 0) expect(off).toBeLessThanOrEqual(scale * largestError(query, queryScale));
      }),
    );
  });
});
