import type { Steps } from '../../pauses.js';
import { Random } from '../../random.js';
import type { Interval } from './evaluation.js';

/** How a sample is drawn again. */
export interface BootstrapOptions {
  /** How often. */
  readonly resamples: number;
  readonly seed: number;
}

const SHARE = 0.95;

/**
 * 95 % intervals of figures by the percentile bootstrap (Efron 1979): as many rows are drawn with replacement, again and
 * again.
 * @param rows how many there are.
 * @param figuresOf the figures of a sample, told how often each row is in it. [rows]
 */
export function* intervalsOf<Name extends string>(
  rows: number,
  names: readonly Name[],
  figuresOf: (times: Int32Array) => Readonly<Record<Name, number>>,
  { resamples, seed }: BootstrapOptions,
): Steps<Record<Name, Interval>> {
  const random = Random.fromSeed(seed);
  const drawn = new Map(names.map((name): [Name, number[]] => [name, []]));
  const times = new Int32Array(rows);
  for (let sample = 0; sample < resamples; sample += 1) {
    yield;
    times.fill(0);
    for (let draw = 0; draw < rows; draw += 1) {
      const row = random.integer(rows);
      times[row] = (times[row] ?? 0) + 1;
    }
    const figures = figuresOf(times);
    for (const name of names) drawn.get(name)?.push(figures[name]);
  }
  return mapped(names, (name) => {
    const sorted = Float64Array.from(drawn.get(name) ?? []).sort();
    return [quantile(sorted, (1 - SHARE) / 2), quantile(sorted, (1 + SHARE) / 2)];
  });
}

/** An object with a value for each name. */
function mapped<Name extends string, Value>(
  names: readonly Name[],
  value: (name: Name) => Value,
): Record<Name, Value> {
  const values: Partial<Record<Name, Value>> = {};
  const isWhole = (object: Partial<Record<Name, Value>>): object is Record<Name, Value> =>
    names.every((name) => name in object);
  for (const name of names) values[name] = value(name);
  if (!isWhole(values)) throw new RangeError('a name is missing');
  return values;
}

/** Between the two nearest of sorted values, by linear interpolation; NaN of none. */
export function quantile(sorted: Float64Array, share: number): number {
  const place = share * (sorted.length - 1);
  const below = sorted[Math.floor(place)] ?? Number.NaN;
  const above = sorted[Math.ceil(place)] ?? Number.NaN;
  return below + (above - below) * (place - Math.floor(place));
}
