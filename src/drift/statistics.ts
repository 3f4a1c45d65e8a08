import type { Random, Steps } from '../system/index.js';

/** Two-sample tests and intervals. Levels and probabilities are 0 to 1. */

/** Number, mean and unbiased variance of some values. */
export interface Moments {
  readonly count: number;
  readonly mean: number;
  /** 0 for fewer than two values. */
  readonly variance: number;
}

export function momentsOf(values: ArrayLike<number>): Moments {
  const count = values.length;
  let sum = 0;
  for (let at = 0; at < count; at += 1) sum += values[at] ?? 0;
  const mean = count === 0 ? 0 : sum / count;
  let squares = 0;
  for (let at = 0; at < count; at += 1) squares += ((values[at] ?? 0) - mean) ** 2;
  return { count, mean, variance: count < 2 ? 0 : squares / (count - 1) };
}

/** Lower and upper bound. */
type Bounds = readonly [low: number, high: number];

/** The interval of a mean by Student's t; the mean itself for fewer than two values. */
export function meanInterval({ count, mean, variance }: Moments, level: number): Bounds {
  if (count < 2) return [mean, mean];
  const half = studentQuantile((1 + level) / 2, count - 1) * Math.sqrt(variance / count);
  return [mean - half, mean + half];
}

/** The two-sided p-value that two means are the same (Welch 1947). 1 where neither sample varies and both means are equal. */
export function welchTest(a: Moments, b: Moments): number {
  const [ofA, ofB] = [a.variance / a.count, b.variance / b.count];
  const error = ofA + ofB;
  if (!(error > 0)) return a.mean === b.mean ? 1 : 0;
  const freedom = error ** 2 / (ofA ** 2 / (a.count - 1) + ofB ** 2 / (b.count - 1));
  return 2 * (1 - studentCdf(Math.abs(a.mean - b.mean) / Math.sqrt(error), freedom));
}

/** Student's t distribution, by the incomplete beta function. */
function studentCdf(t: number, freedom: number): number {
  const tail = incompleteBeta(freedom / (freedom + t * t), freedom / 2, 0.5) / 2;
  return t > 0 ? 1 - tail : tail;
}

/** By bisection. @param probability above one half */
function studentQuantile(probability: number, freedom: number): number {
  let [low, high] = [0, 1];
  while (studentCdf(high, freedom) < probability && high < 1e12) high *= 2;
  for (let step = 0; step < 100 && high - low > 1e-12 * high; step += 1) {
    const middle = (low + high) / 2;
    if (studentCdf(middle, freedom) < probability) low = middle;
    else high = middle;
  }
  return high;
}

/** With at least this many degrees of freedom, Student's t equals the normal distribution to six digits. */
const NORMAL_FREEDOM = 1e6;

/** The two-sided quantile of the normal distribution: 1.96 for a level of 0.95. */
export function normalQuantile(level: number): number {
  return studentQuantile((1 + level) / 2, NORMAL_FREEDOM);
}

/** The regularized incomplete beta function I_x(a, b), by its continued fraction (Press et al. 2007, section 6.4). */
function incompleteBeta(x: number, a: number, b: number): number {
  if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
  const logFront = logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log(1 - x);
  const front = Math.exp(logFront);
  return x < (a + 1) / (a + b + 2) ? (front * betaFraction(x, a, b)) / a : 1 - (front * betaFraction(1 - x, b, a)) / b;
}

const MOST_TERMS = 10_000;
const TINY = 1e-300;
const apart = (value: number): number => (Math.abs(value) < TINY ? TINY : value);

/** Lentz's method. */
function betaFraction(x: number, a: number, b: number): number {
  let c = 1;
  let d = 1 / apart(1 - ((a + b) * x) / (a + 1));
  let value = d;
  for (let m = 1; m < MOST_TERMS; m += 1) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / apart(1 + even * d);
    c = apart(1 + even / c);
    value *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / apart(1 + odd * d);
    c = apart(1 + odd / c);
    value *= d * c;
    if (Math.abs(d * c - 1) < 1e-15) break;
  }
  return value;
}

/** ln Γ(x) for x > 0 (Lanczos 1964, with the coefficients of Godfrey for g = 7 and n = 9). */
function logGamma(x: number): number {
  const series = LANCZOS.reduce((sum, each, at) => sum + each / (x + at), 0.99999999999980993);
  const base = x + 6.5;
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(base) - base + Math.log(series);
}

const LANCZOS = [
  676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059, 12.507343278686905,
  -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
];

/** How many of how many. */
export interface Count {
  readonly count: number;
  readonly of: number;
}

/** Tables whose probabilities differ by less than this are equally probable, as in R's fisher.test. */
const SAME_PROBABILITY = 1e-7;

/** The two-sided p-value that two shares are the same (Fisher 1935): that of all tables no more probable than the found one. */
export function fisherTest(a: Count, b: Count): number {
  const found = a.count + b.count;
  const all = logChoose(a.of + b.of, found);
  const logProbability = (count: number) => logChoose(a.of, count) + logChoose(b.of, found - count) - all;
  const most = logProbability(a.count) + SAME_PROBABILITY;
  let p = 0;
  for (let count = Math.max(0, found - b.of); count <= Math.min(found, a.of); count += 1) {
    const each = logProbability(count);
    if (each <= most) p += Math.exp(each);
  }
  return Math.min(1, p);
}

const logChoose = (n: number, k: number): number => logGamma(n + 1) - logGamma(k + 1) - logGamma(n - k + 1);

/** The interval of a share (Wilson 1927). @param z the two-sided quantile of the normal distribution */
export function shareInterval({ count, of }: Count, z: number): Bounds {
  if (of === 0) return [0, 1];
  const share = count / of;
  const shrink = 1 + z ** 2 / of;
  const middle = (share + z ** 2 / (2 * of)) / shrink;
  const half = (z * Math.sqrt((share * (1 - share)) / of + z ** 2 / (4 * of ** 2))) / shrink;
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}

/** The interval of the difference of two shares, a − b (Newcombe 1998, method 10). @param z as for {@link shareInterval} */
export function differenceInterval(a: Count, b: Count, z: number): Bounds {
  const [shareA, shareB] = [a.count / a.of, b.count / b.of];
  const [[lowA, highA], [lowB, highB]] = [shareInterval(a, z), shareInterval(b, z)];
  const difference = shareA - shareB;
  return [
    difference - Math.hypot(shareA - lowA, highB - shareB),
    difference + Math.hypot(highA - shareA, shareB - lowB),
  ];
}

/** Adjusted p-values (Holm 1979): rejecting those up to a level gives a false rejection with at most that probability. */
export function holm(pValues: readonly number[]): number[] {
  const order = [...pValues.keys()].sort((a, b) => (pValues[a] ?? 0) - (pValues[b] ?? 0));
  const adjusted = [...pValues];
  let highest = 0;
  for (const [rank, at] of order.entries()) {
    highest = Math.max(highest, Math.min(1, (pValues.length - rank) * (pValues[at] ?? 0)));
    adjusted[at] = highest;
  }
  return adjusted;
}

/** Vectors of one width, one after the other. */
export interface Vectors {
  readonly width: number;
  /** [count, width] */
  readonly values: Float32Array;
}

interface Discrepancy {
  /** The unbiased estimate of MMD²; below 0 by chance where both samples have the same distribution. */
  readonly value: number;
  readonly pValue: number;
}

interface DiscrepancyOptions {
  readonly random: Random;
  /** Number of random permutations. */
  readonly permutations: number;
}

/** The approximate maximum number of pairs whose distances give the median. */
const MEDIAN_PAIRS = 20_000;

/**
 * The maximum mean discrepancy of two samples: the unbiased estimate of MMD² (Gretton et al. 2012, "A Kernel Two-Sample
 * Test", eq. 3), with the kernel exp(−d² / 2σ²), σ the median distance of the pooled vectors. Its p-value is that of a
 * permutation test (ibid., section 5).
 */
export function* discrepancy(a: Vectors, b: Vectors, { random, permutations }: DiscrepancyOptions): Steps<Discrepancy> {
  const counts = [a.values.length / a.width, b.values.length / b.width] as const;
  const kernel = yield* kernelMatrix([a, b]);
  const size = counts[0] + counts[1];
  const sums = new Float64Array(size);
  for (let row = 0; row < size; row += 1) {
    yield;
    for (let column = 0; column < size; column += 1) sums[row] = (sums[row] ?? 0) + (kernel[row * size + column] ?? 0);
  }
  const total = sums.reduce((sum, each) => sum + each, 0);
  // The smaller sample decides, as it has fewer pairs.
  const [first, few] = counts[0] <= counts[1] ? [0, counts[0]] : [counts[0], counts[1]];
  const many = size - few;
  const estimate = (members: Int32Array): number => {
    let [within, touching] = [0, 0];
    for (let at = 0; at < few; at += 1) {
      const row = members[at] ?? 0;
      touching += sums[row] ?? 0;
      for (let other = 0; other < few; other += 1) within += kernel[row * size + (members[other] ?? 0)] ?? 0;
    }
    const between = touching - within;
    const others = total - within - 2 * between;
    return within / (few * (few - 1)) + others / (many * (many - 1)) - (2 * between) / (few * many);
  };
  const order = Int32Array.from({ length: size }, (_, at) => (first + at) % size);
  const value = estimate(order);
  let asLarge = 0;
  for (let permutation = 0; permutation < permutations; permutation += 1) {
    yield;
    for (let at = 0; at < few; at += 1) {
      const place = at + random.integer(size - at);
      const drawn = order[place] ?? 0;
      order[place] = order[at] ?? 0;
      order[at] = drawn;
    }
    if (estimate(order) >= value) asLarge += 1;
  }
  return { value, pValue: (1 + asLarge) / (1 + permutations) };
}

/** Of all vectors with each other, 0 on the diagonal. [count, count] */
function* kernelMatrix(samples: readonly Vectors[]): Steps<Float32Array> {
  const rows = samples.flatMap(({ values, width }) =>
    Array.from({ length: values.length / width }, (_, row) => values.subarray(row * width, (row + 1) * width)),
  );
  const size = rows.length;
  const kernel = new Float32Array(size * size);
  const stride = Math.max(1, Math.floor((size * (size - 1)) / 2 / MEDIAN_PAIRS));
  const some: number[] = [];
  let pair = 0;
  for (const [row, vector] of rows.entries()) {
    yield;
    for (let column = 0; column < row; column += 1) {
      const distance = squaredDistance(vector, rows[column] ?? vector);
      kernel[row * size + column] = distance;
      pair += 1;
      if (pair % stride === 0) some.push(distance);
    }
  }
  const median = Float32Array.from(some).sort()[Math.floor(some.length / 2)] ?? 0;
  const scale = -1 / (2 * (median > 0 ? median : 1));
  for (let row = 0; row < size; row += 1) {
    yield;
    for (let column = 0; column < row; column += 1) {
      const value = Math.exp(scale * (kernel[row * size + column] ?? 0));
      kernel[row * size + column] = value;
      kernel[column * size + row] = value;
    }
  }
  return kernel;
}

/** Of vectors of the same width. */
export function squaredDistance(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at += 1) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0);
    sum += difference * difference;
  }
  return sum;
}
