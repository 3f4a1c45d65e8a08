import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RunCost } from '../../src/inference/encoder-runs.js';

const sizes = [
  { rows: 1, tokens: 8 },
  { rows: 1, tokens: 40 },
  { rows: 8, tokens: 25 },
  { rows: 1, tokens: 300 },
  { rows: 16, tokens: 60 },
  { rows: 4, tokens: 200 },
];

describe('the cost of a run', () => {
  it('is found from what runs took, whatever the machine', () => {
    const machine = fc.record({
      start: fc.double({ min: 0.1, max: 2, noNaN: true }),
      perToken: fc.double({ min: 0.01, max: 0.2, noNaN: true }),
      pairs: fc.double({ min: 1e-5, max: 2e-4, noNaN: true }),
    });
    fc.assert(
      fc.property(machine, ({ start, perToken, pairs }) => {
        const truth = ({ rows, tokens }: { rows: number; tokens: number }) =>
          start + perToken * rows * tokens + pairs * rows * tokens * tokens;
        const cost = new RunCost();
        for (let round = 0; round < 64; round += 1) for (const size of sizes) cost.learn(size, truth(size));
        for (const size of [...sizes, { rows: 3, tokens: 90 }]) {
          expect(Math.abs(cost.cost(size) / truth(size) - 1)).toBeLessThan(0.2);
        }
      }),
    );
  });

  it('grows with rows and tokens, also before anything was measured and after times of pure noise', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0.01, max: 100, noNaN: true }), { maxLength: 60 }), (times) => {
        const cost = new RunCost();
        for (const [at, ms] of times.entries()) cost.learn(sizes[at % sizes.length] ?? { rows: 1, tokens: 1 }, ms);
        expect(cost.cost({ rows: 2, tokens: 30 })).toBeGreaterThan(cost.cost({ rows: 1, tokens: 30 }));
        expect(cost.cost({ rows: 2, tokens: 31 })).toBeGreaterThan(cost.cost({ rows: 2, tokens: 30 }));
        expect(cost.cost({ rows: 1, tokens: 1 })).toBeGreaterThan(0);
      }),
    );
  });
});
