import { describe, expect, it } from 'vitest';
import {
  differenceInterval,
  discrepancy,
  fisherTest,
  holm,
  meanInterval,
  momentsOf,
  normalQuantile,
  shareInterval,
  welchTest,
} from '../../src/drift/statistics.js';
import { Random, runToEnd } from '../../src/system/index.js';

/** Two-sample tests and intervals: published values, sums over all cases, and simulated levels. */

describe('quantiles', () => {
  it('are those of the tables', () => {
    expect(normalQuantile(0.95)).toBeCloseTo(1.959964, 4);
    expect(normalQuantile(0.99)).toBeCloseTo(2.575829, 4);
    // Student's t for 9 and 2 degrees of freedom: 2.262157 and 4.302653.
    const interval = (count: number) => meanInterval({ count, mean: 0, variance: count }, 0.95)[1];
    expect(interval(10)).toBeCloseTo(2.262157, 5);
    expect(interval(3)).toBeCloseTo(4.302653, 5);
  });
});

describe("Welch's test", () => {
  it('is worked out by hand for two degrees of freedom, where the distribution has a closed form', () => {
    // Both samples have two values and variance 2: 2 degrees of freedom, t = 3 / √2, P(|T| > t) = 1 − t / √(2 + t²).
    const t = 3 / Math.SQRT2;
    const p = welchTest(momentsOf([0, 2]), momentsOf([3, 5]));
    expect(p).toBeCloseTo(1 - t / Math.sqrt(2 + t * t), 10);
  });

  it('says of samples without any variance whether their means differ', () => {
    expect(welchTest(momentsOf([1, 1]), momentsOf([1, 1, 1]))).toBe(1);
    expect(welchTest(momentsOf([1, 1]), momentsOf([2, 2]))).toBe(0);
  });
});

describe("Fisher's test", () => {
  it('gives the p-value of the lady tasting tea', () => {
    expect(fisherTest({ count: 3, of: 4 }, { count: 1, of: 4 })).toBeCloseTo(34 / 70, 10);
    expect(fisherTest({ count: 4, of: 4 }, { count: 0, of: 4 })).toBeCloseTo(2 / 70, 10);
  });

  it('is the share of all divisions of the texts that are no more probable, counted one by one', () => {
    const [of, found] = [5, 4];
    const all = subsets(2 * of, of);
    const inFirst = (members: readonly number[]) => members.filter((each) => each < found).length;
    const times = new Map<number, number>();
    for (const members of all) times.set(inFirst(members), (times.get(inFirst(members)) ?? 0) + 1);
    for (const [count, number] of times) {
      const rarer = [...times.values()].filter((each) => each <= number).reduce((sum, each) => sum + each, 0);
      expect(fisherTest({ count, of }, { count: found - count, of })).toBeCloseTo(rarer / all.length, 10);
    }
  });
});

function subsets(size: number, members: number, from = 0): number[][] {
  if (members === 0) return [[]];
  const found: number[][] = [];
  for (let first = from; first <= size - members; first += 1) {
    for (const rest of subsets(size, members - 1, first + 1)) found.push([first, ...rest]);
  }
  return found;
}

describe('intervals of shares', () => {
  it('are those of the papers', () => {
    // Newcombe 1998, "Interval estimation for the difference between independent proportions", table II (a), method 10.
    const [low, high] = differenceInterval({ count: 56, of: 70 }, { count: 48, of: 80 }, normalQuantile(0.95));
    expect(low).toBeCloseTo(0.0524, 4);
    expect(high).toBeCloseTo(0.3339, 4);
    // Newcombe 1998, "Two-sided confidence intervals for the single proportion", table I, method 3.
    const [least, most] = shareInterval({ count: 81, of: 263 }, normalQuantile(0.95));
    expect([least.toFixed(4), most.toFixed(4)]).toEqual(['0.2553', '0.3662']);
  });
});

describe('adjusted p-values', () => {
  it('are worked out by hand', () => {
    expect(holm([0.01, 0.04, 0.03])).toEqual([0.03, 0.06, 0.06]);
    expect(holm([0.9, 0.8])).toEqual([1, 1]);
    expect(holm([])).toEqual([]);
  });
});

const normals = (random: Random, count: number, width: number, shift = 0) => ({
  width,
  values: Float32Array.from({ length: count * width }, () => random.normal() + shift),
});

describe('the maximum mean discrepancy', () => {
  it('is the estimate of the paper, by a double loop over all pairs', () => {
    const random = Random.fromSeed(5);
    const [a, b] = [normals(random, 7, 3), normals(random, 9, 3, 0.5)];
    const rows = [a, b].map(({ values, width }) =>
      Array.from({ length: values.length / width }, (_, row) => [...values.slice(row * width, (row + 1) * width)]),
    );
    const [first = [], second = []] = rows;
    const distance = (x: number[], y: number[]) => x.reduce((sum, each, at) => sum + (each - (y[at] ?? 0)) ** 2, 0);
    const pooled = [...first, ...second];
    const distances = pooled.flatMap((x, at) => pooled.slice(0, at).map((y) => distance(x, y))).sort((x, y) => x - y);
    const median = distances[Math.floor(distances.length / 2)] ?? 0;
    const mean = (some: number[][], others: number[][], skipsSame: boolean) => {
      let [sum, pairs] = [0, 0];
      for (const [row, x] of some.entries()) {
        for (const [column, y] of others.entries()) {
          if (skipsSame && row === column) continue;
          sum += Math.exp(-distance(x, y) / (2 * median));
          pairs += 1;
        }
      }
      return sum / pairs;
    };
    const expected = mean(first, first, true) + mean(second, second, true) - 2 * mean(first, second, false);
    for (const [x, y] of [
      [a, b],
      [b, a],
    ] as const) {
      const { value } = runToEnd(discrepancy(x, y, { random: Random.fromSeed(0), permutations: 1 }));
      expect(value).toBeCloseTo(expected, 6);
    }
  });

  it('gives p-values that are right for equal distributions, and small for different ones', () => {
    const random = Random.fromSeed(1);
    const pValue = (shift: number) => {
      const [a, b] = [normals(random, 30, 4), normals(random, 20, 4, shift)];
      return runToEnd(discrepancy(a, b, { random, permutations: 99 })).pValue;
    };
    const equal = Array.from({ length: 200 }, () => pValue(0));
    // 10 of 200 are expected; 20 or more have a probability of 0.3 %.
    expect(equal.filter((p) => p <= 0.05).length).toBeLessThan(20);
    expect(equal.filter((p) => p <= 0.5).length).toBeGreaterThan(70);
    expect(Array.from({ length: 10 }, () => pValue(1)).every((p) => p <= 0.02)).toBe(true);
  });

  it('gives the same p-value for the same seed', () => {
    const [a, b] = [normals(Random.fromSeed(2), 20, 2), normals(Random.fromSeed(3), 25, 2)];
    const once = () => runToEnd(discrepancy(a, b, { random: Random.fromSeed(9), permutations: 50 }));
    expect(once()).toEqual(once());
  });
});
