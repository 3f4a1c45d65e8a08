import { describe, expect, it } from 'vitest';
import { Random } from '../../src/system/numbers.js';

const sample = <T>(count: number, next: () => T): T[] => Array.from({ length: count }, next);

describe('Random', () => {
  it('gives the same stream for the same seeds, another for others or another order of them', () => {
    const streams = [[1, 2], [1, 2], [2, 1], [1], [1, 3]].map((seeds) => {
      const random = Random.fromSeed(...seeds);
      return sample(4, () => random.uniform()).join();
    });
    expect(streams[0]).toBe(streams[1]);
    expect(new Set(streams).size).toBe(4);
  });

  it('gives the same streams in every release, as models are reproduced by their seed', () => {
    const streams = [[0], [1], [-1], [1, 2], [2 ** 31, 7]].map((seeds) => {
      const random = Random.fromSeed(...seeds);
      return [random.uniform(), random.integer(1000), random.normal(), ...random.shuffle([1, 2, 3, 4, 5])].join(' ');
    });
    expect(streams).toEqual([
      '0.5423716050118442 944 0.7395156037647541 5 1 4 3 2',
      '0.7336476399752114 62 0.19828464600638837 2 4 3 5 1',
      '0.26009726666704736 150 0.3494295545623357 5 3 4 1 2',
      '0.2829377511894775 944 0.25581855551182126 2 3 5 1 4',
      '0.4629390005658859 234 0.892054994483019 3 1 4 5 2',
    ]);
  });

  it('starts unrelated streams from neighbouring seeds', () => {
    const firsts = Array.from({ length: 4096 }, (_, seed) => Random.fromSeed(seed).uniform());
    expect(mean(firsts)).toBeCloseTo(0.5, 1.5);
    const centred = firsts.map((value) => value - 0.5);
    const serial = mean(centred.slice(1).map((value, index) => value * (centred[index] ?? 0))) * 12;
    expect(Math.abs(serial)).toBeLessThan(4 / Math.sqrt(4096));
  });

  it('draws whole numbers below the bound equally often', () => {
    const random = Random.fromSeed(5);
    const seen = [0, 0, 0];
    for (let draw = 0; draw < 30_000; draw++) {
      const value = random.integer(3);
      seen[value] = (seen[value] ?? 0) + 1;
    }
    // A count of 30,000 draws at 1/3 has standard deviation 82.
    for (const times of seen) expect(Math.abs(times - 10_000)).toBeLessThan(4 * 82);
    expect(seen).toHaveLength(3);
  });

  it('draws normal values: mean 0, variance 1, kurtosis 3', () => {
    const random = Random.fromSeed(11);
    const values = sample(100_000, () => random.normal());
    const moment = (power: number) => mean(values.map((value) => value ** power));
    // Standard deviations of the sample moments: √(1/n), √(2/n), √(96/n).
    expect(Math.abs(moment(1))).toBeLessThan(4 * Math.sqrt(1 / 100_000));
    expect(Math.abs(moment(2) - 1)).toBeLessThan(4 * Math.sqrt(2 / 100_000));
    expect(Math.abs(moment(4) - 3)).toBeLessThan(4 * Math.sqrt(96 / 100_000));
  });

  it('shuffles into every order equally often and leaves the original alone', () => {
    const random = Random.fromSeed(2);
    const items = ['a', 'b', 'c'];
    const seen = new Map<string, number>();
    for (let draw = 0; draw < 12_000; draw++) {
      const order = random.shuffle(items).join('');
      seen.set(order, (seen.get(order) ?? 0) + 1);
    }
    expect(items).toEqual(['a', 'b', 'c']);
    expect([...seen.keys()].sort()).toEqual(['abc', 'acb', 'bac', 'bca', 'cab', 'cba']);
    // A count of 12,000 draws at 1/6 has standard deviation 41.
    for (const times of seen.values()) expect(Math.abs(times - 2000)).toBeLessThan(4 * 41);
  });

  it('keeps every item when shuffling, even undefined', () => {
    const shuffled = Random.fromSeed(1).shuffle([undefined, 1, undefined, 2]);
    expect(shuffled).toHaveLength(4);
    expect(shuffled.filter((item) => item === undefined)).toHaveLength(2);
  });
});

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
