import { mapSteps, Random, type Steps } from '../system/index.js';
import { type Baseline, decodeVectors, drawn, MOST_VECTORS, roundedVectors } from './baseline.js';
import {
  differenceInterval,
  discrepancy,
  fisherTest,
  holm,
  meanInterval,
  momentsOf,
  normalQuantile,
  squaredDistance,
  type Vectors,
  welchTest,
} from './statistics.js';

/** Compares texts with a baseline. */

/** With fewer texts on either side there is no alarm, since a test would seldom see a drift. */
export const FEWEST_TEXTS = 20;
/** The probability that any of the tests gives an alarm for texts that are like those of the baseline, at most. */
const LEVEL = 0.05;
const CONFIDENCE = 0.95;
const PERMUTATIONS = 999;
const MOST_ODD = 20;
/** Neighbours in the baseline that a text's distance is the mean of. */
const NEIGHBOURS = 5;

/** Lower and upper bound of an interval. */
export type DriftInterval = readonly [low: number, high: number];

/** The names of the tests. */
export type DriftTestName = 'knownShare' | 'length' | 'labels' | 'vectors';

/** The result of one test. */
export interface DriftTest {
  readonly name: DriftTestName;
  /** The probability of a difference this large or larger between texts of the same source. */
  readonly pValue: number;
  /** The same, adjusted for the number of tests (Holm 1979). At 0.05 or less, there is an alarm. */
  readonly adjusted: number;
}

/** A mean over the baseline's texts and over the new ones. */
export interface ComparedMean {
  readonly baseline: number;
  readonly value: number;
  /** The 95 % interval of `value` (Student's t). */
  readonly interval: DriftInterval;
}

/** How the share of the texts with a label, or with an entity of a type, differs from the baseline. */
export interface LabelShift {
  readonly label: string;
  /** Share of the baseline's texts, 0 to 1. */
  readonly baseline: number;
  /** Share of the new texts. */
  readonly share: number;
  /** `share` − `baseline`. */
  readonly shift: number;
  /** The interval of `shift` (Newcombe 1998). The intervals of all labels hold together with a confidence of 95 %. */
  readonly interval: DriftInterval;
}

/** A text that is unlike those of the baseline. */
export interface OddText {
  /** Its position among the given texts, from 0. */
  readonly index: number;
  /**
   * How odd the text is: its distance and its unknown n-grams together, in standard deviations of the baseline's texts.
   */
  readonly score: number;
  /** Share of its n-grams that occur in the baseline's texts, 0 to 1. */
  readonly knownShare: number;
  /** Mean distance of its vector to the five nearest vectors of the baseline, 0 to 2. Absent without vectors. */
  readonly distance?: number;
  /** What is odd, in words. */
  readonly reason: string;
}

/** How texts differ from a baseline. */
export interface Drift {
  /** Number of texts that were compared. */
  readonly texts: number;
  /** Number of texts of the baseline. */
  readonly baselineTexts: number;
  /** Whether there are at least 20 texts on both sides. Otherwise nothing is tested. */
  readonly isEnough: boolean;
  /**
   * Whether the texts drifted, by any of the tests. If the texts are like those of the baseline, it is true in at most
   * 5 % of the comparisons.
   */
  readonly alarm: boolean;
  /** Why there is an alarm, or why nothing was tested, in words. Otherwise empty. */
  readonly reasons: readonly string[];
  readonly tests: readonly DriftTest[];
  /** Share of a text's n-grams that occur in the baseline's texts, 0 to 1. */
  readonly knownShare: ComparedMean;
  /** Length of a text in UTF-16 code units: geometric means. */
  readonly length: ComparedMean;
  /** The label with the largest shift first. Absent for models that rank passages. */
  readonly labels?: readonly LabelShift[];
  /** Absent without vectors, or if they were not tested. */
  readonly vectors?: {
    /** The unbiased estimate of the squared maximum mean discrepancy (Gretton et al. 2012); about 0 without a drift. */
    readonly mmd: number;
  };
  /** The 20 texts that are least like the baseline's, the oddest first. */
  readonly oddest: readonly OddText[];
}

/** What is compared of some texts. All lists have the same order. */
export interface TextSample {
  /** Of each text. */
  readonly knownShares: readonly number[];
  /** Natural logarithms. */
  readonly logLengths: readonly number[];
  /** How many of the texts have each label. */
  readonly labels?: Readonly<Record<string, number>> | undefined;
  /** Of each text. */
  readonly vectors?: readonly Float32Array[] | undefined;
}

export function* compare(baseline: Baseline, sample: TextSample, seed: number): Steps<Drift> {
  const texts = sample.knownShares.length;
  const isEnough = Math.min(texts, baseline.texts) >= FEWEST_TEXTS;
  const random = Random.fromSeed(seed);
  const shares = momentsOf(sample.knownShares);
  const lengths = momentsOf(sample.logLengths);
  const usual = baseline.vectors && decodeVectors(baseline.vectors);
  const given = usual && sample.vectors && roundedVectors(sample.vectors, usual.width);
  const found: { readonly name: DriftTestName; readonly pValue: number; readonly reason: string }[] = [];
  const add = (name: DriftTestName, pValue: number, reason: string) => found.push({ name, pValue, reason });

  const knownShare = {
    baseline: baseline.knownShare.mean,
    value: shares.mean,
    interval: within01(meanInterval(shares, CONFIDENCE)),
  };
  const [shortest, longest] = meanInterval(lengths, CONFIDENCE);
  const length: ComparedMean = {
    baseline: Math.exp(baseline.logLength.mean),
    value: Math.exp(lengths.mean),
    interval: [Math.exp(shortest), Math.exp(longest)],
  };
  const labels = baseline.labels && sample.labels && shiftsOf(baseline.labels, baseline.texts, sample.labels, texts);
  let mmd: number | undefined;
  if (isEnough) {
    const { baseline: before, value: now } = knownShare;
    const unit = unitOf(baseline);
    const known = `the texts share ${percent(now)} of their ${unit} with the baseline, whose own texts share ${percent(before)} with each other`;
    add('knownShare', welchTest(baseline.knownShare, shares), known);
    const long = `the texts have ${Math.round(length.value)} characters on average (geometric mean), those of the baseline ${Math.round(length.baseline)}`;
    add('length', welchTest(baseline.logLength, lengths), long);
    if (labels) add('labels', labels.pValue, labels.reason);
    if (usual && given && usual.values.length >= FEWEST_TEXTS * usual.width) {
      const some = chosenVectors(given, drawn([...sample.knownShares.keys()], MOST_VECTORS, seed));
      const tested = yield* discrepancy(usual, some, { random, permutations: PERMUTATIONS });
      mmd = tested.value;
      const far = `the vectors of the texts differ from those of the baseline (MMD² ${tested.value.toFixed(4)})`;
      add('vectors', tested.pValue, far);
    }
  }
  const adjusted = holm(found.map(({ pValue }) => pValue));
  const tests = found.map(({ name, pValue }, at) => ({ name, pValue, adjusted: adjusted[at] ?? 1 }));
  const reasons = found.flatMap(({ reason }, at) => ((adjusted[at] ?? 1) <= LEVEL ? [reason] : []));
  const tooFew = `${texts} ${texts === 1 ? 'text' : 'texts'}, compared with ${baseline.texts} of the baseline: give at least ${FEWEST_TEXTS} of each; nothing was tested`;
  return {
    texts,
    baselineTexts: baseline.texts,
    isEnough,
    alarm: reasons.length > 0,
    reasons: isEnough ? reasons : [tooFew],
    tests,
    knownShare,
    length,
    ...(labels && { labels: labels.shifts }),
    ...(mmd !== undefined && { vectors: { mmd } }),
    oddest: yield* oddestTexts(baseline, sample, usual, given),
  };
}

const within01 = ([low, high]: DriftInterval): DriftInterval => [Math.max(0, low), Math.min(1, high)];

function chosenVectors({ values, width }: Vectors, chosen: readonly number[]): Vectors {
  const some = new Float32Array(chosen.length * width);
  for (const [row, at] of chosen.entries()) some.set(values.subarray(at * width, (at + 1) * width), row * width);
  return { width, values: some };
}

/** Labels that no text has, on either side, can't shift, and count as no test. */
function shiftsOf(
  before: Readonly<Record<string, number>>,
  textsBefore: number,
  now: Readonly<Record<string, number>>,
  texts: number,
) {
  const [usual, given] = [new Map(Object.entries(before)), new Map(Object.entries(now))];
  const names = [...new Set([...usual.keys(), ...given.keys()])];
  const occurring = names.filter((label) => (usual.get(label) ?? 0) + (given.get(label) ?? 0) > 0);
  const tests = Math.max(1, occurring.length);
  const z = normalQuantile(1 - (1 - CONFIDENCE) / tests);
  const judged = occurring.map((label) => {
    const [a, b] = [
      { count: given.get(label) ?? 0, of: texts },
      { count: usual.get(label) ?? 0, of: textsBefore },
    ];
    const [share, baseline] = [a.count / Math.max(1, a.of), b.count / Math.max(1, b.of)];
    const interval = a.of > 0 && b.of > 0 ? differenceInterval(a, b, z) : ([-1, 1] as const);
    return { pValue: fisherTest(a, b), label, baseline, share, shift: share - baseline, interval };
  });
  judged.sort((a, b) => Math.abs(b.shift) - Math.abs(a.shift));
  const least = judged.reduce((low, { pValue }) => Math.min(low, pValue), 1);
  const clear = judged.filter(({ pValue }) => pValue * tests <= LEVEL).slice(0, 3);
  const told = clear.map(({ label, baseline, share }) => `${label} from ${percent(baseline)} to ${percent(share)}`);
  return {
    pValue: Math.min(1, tests * least),
    reason: `the shares of answers shifted: ${told.join(', ')}`,
    shifts: judged.map(({ pValue: _, ...shift }): LabelShift => shift),
  };
}

const unitOf = ({ known }: Baseline): string => (known.options.words ? 'words and word pairs' : 'character n-grams');

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

function* oddestTexts(
  baseline: Baseline,
  { knownShares }: TextSample,
  usual: Vectors | undefined,
  given: Vectors | undefined,
): Steps<OddText[]> {
  const { knownShare } = baseline;
  const unit = unitOf(baseline);
  const isCompared = usual !== undefined && given !== undefined && usual.values.length > NEIGHBOURS * usual.width;
  const rowsOf = ({ values, width }: Vectors) =>
    Array.from({ length: values.length / width }, (_, row) => values.subarray(row * width, (row + 1) * width));
  const known = isCompared ? rowsOf(usual) : [];
  const asked = isCompared ? rowsOf(given) : [];
  const near = momentsOf(yield* mapSteps(known, (vector, row) => nearestDistance(vector, known, row)));
  const odd = yield* mapSteps(knownShares, (share, index): OddText => {
    const vector = asked[index];
    const distance = vector && nearestDistance(vector, known);
    const unknownScore = standardScore(knownShare.mean - share, knownShare.variance);
    const distanceScore = distance === undefined ? 0 : standardScore(distance - near.mean, near.variance);
    const isFar = `far from the baseline's texts: distance ${distance?.toFixed(2)}, usually ${near.mean.toFixed(2)}`;
    const isUnknown = `${percent(1 - share)} of its ${unit} are new, usually ${percent(1 - knownShare.mean)}`;
    const clear = [
      { score: distanceScore, reason: isFar },
      { score: unknownScore, reason: isUnknown },
    ].sort((a, b) => b.score - a.score);
    const told = clear.filter(({ score }, at) => at === 0 || score >= 1).map(({ reason }) => reason);
    return {
      index,
      score: Math.max(0, unknownScore) + Math.max(0, distanceScore),
      knownShare: share,
      ...(distance !== undefined && { distance }),
      reason: told.join('; '),
    };
  });
  return odd.sort((a, b) => b.score - a.score || a.index - b.index).slice(0, MOST_ODD);
}

/** Smaller standard deviations, such as those of texts that all have the same words, would make every text odd. */
const LEAST_DEVIATION = 0.02;

const standardScore = (difference: number, variance: number): number =>
  difference / Math.max(LEAST_DEVIATION, Math.sqrt(variance));

/** The mean distance to the nearest vectors. @param own a row to leave out */
function nearestDistance(vector: Float32Array, others: readonly Float32Array[], own = -1): number {
  const nearest = new Float64Array(NEIGHBOURS).fill(Number.POSITIVE_INFINITY);
  for (const [row, other] of others.entries()) {
    if (row === own) continue;
    let distance = squaredDistance(vector, other);
    for (let place = 0; place < NEIGHBOURS; place += 1) {
      const held = nearest[place] ?? 0;
      if (distance >= held) continue;
      nearest[place] = distance;
      distance = held;
    }
  }
  return nearest.reduce((sum, each) => sum + Math.sqrt(each), 0) / NEIGHBOURS;
}
