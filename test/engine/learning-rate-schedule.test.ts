import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { linearLearningRate } from '../../src/engine/index.js';

const ratesOf = (totalSteps: number, warmupFraction?: number) =>
  Array.from({ length: totalSteps + 2 }, (_, step) =>
    linearLearningRate(step, {
      peak: 1,
      totalSteps,
      ...(warmupFraction !== undefined && { warmupFraction }),
    }),
  );

describe('linearLearningRate', () => {
  it('rises in equal parts to the peak, then falls in equal parts to 0', () => {
    expect(ratesOf(8, 0.5)).toEqual([0.25, 0.5, 0.75, 1, 1, 0.75, 0.5, 0.25, 0, 0]);
  });

  it('warms up for a tenth of the steps, rounded up, unless told otherwise', () => {
    expect(ratesOf(11).slice(0, 4)).toEqual([0.5, 1, 1, 8 / 9]);
  });

  it('starts at the peak without warm-up', () => {
    expect(ratesOf(4, 0)).toEqual([1, 0.75, 0.5, 0.25, 0, 0]);
  });

  it('stays above 0 and at or below the peak during training, whatever the lengths', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 }), fc.double({ min: 0, max: 1, noNaN: true }), (total, fraction) => {
        const rates = ratesOf(total, fraction);
        expect(rates.slice(0, total).every((rate) => rate > 0 && rate <= 1)).toBe(true);
        expect(rates.slice(total)).toEqual([0, 0]);
        expect(Math.max(...rates)).toBe(1);
      }),
    );
  });
});
