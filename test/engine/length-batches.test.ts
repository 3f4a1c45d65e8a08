import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lengthBatches } from '../../src/engine/index.js';

const lengths = fc.array(fc.integer({ min: 1, max: 200 }), { maxLength: 400 });
const options = fc.record({
  batchSize: fc.integer({ min: 1, max: 40 }),
  seed: fc.integer(),
  epoch: fc.nat(20),
});

const ascending = (a: number, b: number) => a - b;

/** Row i has length 1 + 7i mod 97: every length about equally often. */
const MANY = Array.from({ length: 2000 }, (_, row) => 1 + ((7 * row) % 97));

describe('lengthBatches', () => {
  it('gives every row exactly once per epoch', () => {
    fc.assert(
      fc.property(lengths, options, (rows, settings) => {
        const batches = lengthBatches(rows, settings);
        expect(batches.flat().sort(ascending)).toEqual(rows.map((_, row) => row));
      }),
    );
  });

  it('keeps the batch size', () => {
    fc.assert(
      fc.property(lengths, options, (rows, settings) => {
        for (const batch of lengthBatches(rows, settings)) {
          expect(batch.length).toBeGreaterThanOrEqual(1);
          expect(batch.length).toBeLessThanOrEqual(settings.batchSize);
        }
      }),
    );
  });

  it('gives the same batches for the same seed and epoch', () => {
    const settings = { batchSize: 16, seed: 3, epoch: 2 };
    expect(lengthBatches(MANY, settings)).toEqual(lengthBatches(MANY, settings));
  });

  it('mixes the rows anew for another epoch and for another seed', () => {
    const sets = [
      { batchSize: 16, seed: 3, epoch: 0 },
      { batchSize: 16, seed: 3, epoch: 1 },
      { batchSize: 16, seed: 4, epoch: 0 },
    ].map((settings) => lengthBatches(MANY, settings));
    const contents = sets.map((batches) => batches.map((batch) => [...batch].sort(ascending).join()).sort());
    // Not only another order of the same batches: hardly a batch comes again.
    for (const [a, b] of [
      [0, 1],
      [0, 2],
      [1, 2],
    ] as const) {
      const common = contents[a]?.filter((batch) => contents[b]?.includes(batch)) ?? [];
      expect(common).toEqual([]);
    }
  });

  it('makes full batches, except for one at most', () => {
    const sizes = lengthBatches(MANY, { batchSize: 32, seed: 1, epoch: 0 }).map((batch) => batch.length);
    expect(sizes.filter((size) => size !== 32)).toEqual([2000 % 32]);
  });

  it('pads a tenth of what batches in random order pad', () => {
    const padding = (batches: readonly (readonly number[])[]) =>
      batches.reduce((sum, batch) => {
        const own = batch.map((row) => MANY[row] ?? 0);
        return sum + own.length * Math.max(...own) - own.reduce((total, length) => total + length, 0);
      }, 0);
    const random = Array.from({ length: 125 }, (_, batch) => Array.from({ length: 16 }, (_, i) => batch * 16 + i));
    expect(padding(lengthBatches(MANY, { batchSize: 16, seed: 1, epoch: 0 }))).toBeLessThan(padding(random) / 10);
  });

  it('does not go through the lengths in order', () => {
    const batches = lengthBatches(MANY, { batchSize: 16, seed: 1, epoch: 0 });
    const first = batches.map((batch) => MANY[batch[0] ?? 0] ?? 0);
    const rises = first.filter((length, index) => length > (first[index - 1] ?? 0)).length;
    expect(rises).toBeGreaterThan(first.length * 0.3);
    expect(rises).toBeLessThan(first.length * 0.7);
  });

  it('has no batches without rows, and refuses a batch size of 0', () => {
    expect(lengthBatches([], { batchSize: 4, seed: 1, epoch: 0 })).toEqual([]);
    expect(() => lengthBatches([1], { batchSize: 0, seed: 1, epoch: 0 })).toThrow('`batchSize` is 0');
  });
});
