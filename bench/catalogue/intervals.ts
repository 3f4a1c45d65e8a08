import { Random } from '../../src/system/index.js';

/** A figure with the bounds of its 95 % interval. */
export interface Estimate {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** The 97.5 % quantile of the standard normal distribution. */
const Z = 1.959964;

/** A share of rows, with Wilson's score interval (Wilson 1927). */
export function share(right: number, rows: number): Estimate {
  const value = right / rows;
  const middle = value + Z ** 2 / (2 * rows);
  const reach = Z * Math.sqrt((value * (1 - value)) / rows + Z ** 2 / (4 * rows ** 2));
  const scale = 1 + Z ** 2 / rows;
  return { value, low: (middle - reach) / scale, high: (middle + reach) / scale };
}

const DRAWS = 1000;
const SEED = 1;
const TAIL = 0.025;

/**
 * Any figure over rows, with its percentile bootstrap interval (Efron & Tibshirani 1993, 13.3): as many rows
 * as there are, drawn with replacement; the same draws each time.
 */
export function bootstrapped<Row>(rows: readonly Row[], figureOf: (rows: readonly Row[]) => number): Estimate {
  const random = Random.fromSeed(SEED);
  const draw = () => Array.from(rows, (row) => rows[random.integer(rows.length)] ?? row);
  const drawn = Array.from({ length: DRAWS }, () => figureOf(draw())).sort((a, b) => a - b);
  const quantile = (part: number) => drawn[Math.round(part * (DRAWS - 1))] ?? Number.NaN;
  return { value: figureOf(rows), low: quantile(TAIL), high: quantile(1 - TAIL) };
}

/** 0 of nothing. */
export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
