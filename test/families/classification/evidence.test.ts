import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fitEvidence, heldBack, trustIn } from '../../../src/families/classification/probabilities.js';

const probabilities = fc
  .array(fc.double({ min: 1e-3, max: 1, noNaN: true }), { minLength: 2, maxLength: 6 })
  .map((shares) => {
    const sum = shares.reduce((total, each) => total + each, 0);
    return Float64Array.from(shares, (each) => each / sum);
  });
const trust = fc.double({ min: 0, max: 0.999, noNaN: true });

describe('probabilities that are held back', () => {
  it('keep their order and their sum, and are as alike as there is no trust', () => {
    fc.assert(
      fc.property(probabilities, trust, (before, share) => {
        const after = heldBack(before, { trust: share, independent: false });
        expect(after.reduce((sum, each) => sum + each, 0)).toBeCloseTo(1, 9);
        const prior = 1 / before.length;
        for (const [at, each] of after.entries()) {
          expect(each - prior).toBeCloseTo(share * ((before[at] ?? 0) - prior), 9);
        }
      }),
    );
  });

  it('say yes and no as before where each label is decided by itself', () => {
    const shares = fc.array(fc.double({ min: 0, max: 1, noNaN: true })).map((each) => Float64Array.from(each));
    fc.assert(
      fc.property(shares, fc.double({ min: 0.01, max: 0.99, noNaN: true }), (before, share) => {
        const after = heldBack(before, { trust: share, independent: true });
        for (const [at, each] of after.entries()) {
          const was = before[at] ?? 0;
          if (was <= 0.5) expect(each).toBe(was);
          else expect(each).toBeLessThanOrEqual(was);
          // Rounding may draw one that is all but a half to it.
          if (was > 0.5 + 1e-9) expect(each).toBeGreaterThan(0.5);
        }
      }),
    );
  });
});

describe('the trust in a score', () => {
  it('is Laplace’s rule of succession for two labels: (rows + 1) / (rows + 2) of what is certain', () => {
    for (const rows of [1, 3, 10, 1000]) {
      const share = trustIn({ rows, coverage: 0.5 }, 0.8);
      const [most] = heldBack(Float64Array.of(1, 0), { trust: share, independent: false });
      expect(most).toBeCloseTo((rows + 1) / (rows + 2), 12);
    }
  });

  it('is less where less of a text is known than of the dev rows, and none where nothing is', () => {
    const known = { rows: 98, coverage: 0.5 };
    expect(trustIn(known, 0.5)).toBeCloseTo(0.98, 12);
    expect(trustIn(known, 0.25)).toBeCloseTo(0.49, 12);
    expect(trustIn(known, 0)).toBe(0);
    expect(trustIn({ rows: 98, coverage: 0 }, 0)).toBeCloseTo(0.98, 12);
  });
});

describe('the threshold of none', () => {
  const answered = Array.from({ length: 100 }, (_, at) => ({
    coverage: 0.5 + at / 200,
    rightly: at < 10 ? undefined : 0.5 + at / 250,
  }));

  it('lets nineteen of twenty right answers through, as they are held back', () => {
    const { rows, coverage, none_below } = fitEvidence(answered, 4, false);
    expect({ rows, coverage }).toEqual({ rows: 100, coverage: 0.525 });
    const scores = answered.flatMap(({ rightly, coverage: own }) => {
      const held = (score: number) => 0.25 + trustIn({ rows, coverage }, own) * (score - 0.25);
      return rightly === undefined ? [] : [held(rightly)];
    });
    const withheld = scores.filter((score) => score < none_below).length;
    expect(withheld / scores.length).toBeGreaterThan(0.03);
    expect(withheld / scores.length).toBeLessThanOrEqual(0.05);
  });

  it('is what chance gives where no answer is right, and one half where labels are decided one by one', () => {
    const wrong = answered.map(({ coverage }) => ({ coverage, rightly: undefined }));
    expect(fitEvidence(wrong, 4, false).none_below).toBe(0.25);
    expect(fitEvidence([], 4, false)).toEqual({ rows: 1, coverage: 0, none_below: 0.25 });
    expect(fitEvidence(answered, 4, true).none_below).toBe(0.5);
  });
});
