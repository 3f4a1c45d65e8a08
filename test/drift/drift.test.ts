import { describe, expect, it } from 'vitest';
import {
  type Baseline,
  compare,
  type Drift,
  labelCounts,
  logLength,
  makeBaseline,
  NGramFilter,
  requireBaseline,
  requireSameModel,
} from '../../src/drift/index.js';
import { Random, runToEnd } from '../../src/system/index.js';

/** Baselines of made-up texts, and what comparisons with them say. */

interface MadeUp {
  readonly text: string;
  readonly labels: readonly string[];
  readonly vector: Float32Array;
}

const WIDTH = 8;

interface Source {
  /** Number of different words; frequent ones first. */
  readonly vocabulary?: number;
  readonly prefix?: string;
  readonly yes?: number;
  readonly shift?: number;
}

/** Texts of words by Zipf's law, with a label and a vector. */
function madeUp(random: Random, count: number, source: Source = {}): MadeUp[] {
  const { vocabulary = 300, prefix = 'word', yes = 0.3, shift = 0 } = source;
  return Array.from({ length: count }, () => {
    const words = 3 + random.integer(8);
    const drawn = Array.from({ length: words }, () => `${prefix}${Math.floor(vocabulary ** random.uniform())}`);
    return {
      text: drawn.join(' '),
      labels: random.uniform() < yes ? ['yes'] : ['no'],
      vector: Float32Array.from({ length: WIDTH }, (_, at) => random.normal() + (at === 0 ? shift : 0)),
    };
  });
}

const probe = Float32Array.from({ length: WIDTH }, (_, at) => at + 1);
const textsOf = (some: readonly MadeUp[]) => some.map(({ text }) => text);

function baselineOf(some: readonly MadeUp[], known: readonly string[] = textsOf(some)): Baseline {
  const vectors = { some: some.map(({ vector }) => vector), probe };
  const input = { origin: 'texts', known, texts: some, labels: ['yes', 'no', 'never'], vectors } as const;
  return runToEnd(makeBaseline(input, 0));
}

function driftOf(baseline: Baseline, some: readonly MadeUp[], seed = 0): Drift {
  const filter = NGramFilter.decode(baseline.known);
  const sample = {
    knownShares: some.map(({ text }) => filter.share(text)),
    logLengths: some.map(({ text }) => logLength(text)),
    labels: labelCounts([], some),
    vectors: some.map(({ vector }) => vector),
  };
  return runToEnd(compare(baseline, sample, seed));
}

describe('a baseline', () => {
  it('counts the n-grams of a text that other texts have, by hand', () => {
    const texts = ['red blue', 'red blue green', 'black'].map((text) => ({ text, labels: [] }));
    const input = { origin: 'texts', known: texts.map(({ text }) => text), texts, labels: undefined } as const;
    const { knownShare, labels, vectors, texts: count } = runToEnd(makeBaseline(input, 0));
    // red, blue and "red blue" of 3; the same of red, blue, green, "red blue", "blue green"; none of black.
    expect(knownShare.mean).toBeCloseTo((1 + 3 / 5 + 0) / 3, 10);
    expect({ labels, vectors, count }).toEqual({ labels: undefined, vectors: undefined, count: 3 });
  });

  it('knows the n-grams of its texts, and few others', () => {
    const random = Random.fromSeed(1);
    const some = madeUp(random, 400);
    const filter = NGramFilter.decode(baselineOf(some).known);
    expect(some.every(({ text }) => filter.share(text) === 1)).toBe(true);
    const strange = madeUp(random, 400, { prefix: 'fremd' }).map(({ text }) => filter.share(text));
    expect(strange.reduce((sum, share) => sum + share, 0) / strange.length).toBeLessThan(0.01);
  });

  it('reads characters where words have no spaces between them', () => {
    const texts = ['今日は天気がいい', '明日は天気が悪い'].map((text) => ({ text, labels: [] }));
    const input = { origin: 'texts', known: texts.map(({ text }) => text), texts, labels: undefined } as const;
    const { known } = runToEnd(makeBaseline(input, 0));
    const filter = NGramFilter.decode(known);
    expect(known.options.words).toBe(false);
    expect(filter.share('は天気が')).toBeGreaterThan(0.6);
    expect(filter.share('夜電車急')).toBeLessThan(0.2);
  });

  it('is plain JSON without a word of its texts', () => {
    const some = madeUp(Random.fromSeed(2), 50).map((each) => ({ ...each, text: `${each.text} zanzibar` }));
    const baseline = baselineOf(some);
    const written = JSON.stringify(baseline);
    expect(JSON.parse(written)).toEqual(baseline);
    const decoded = [baseline.known.bits, baseline.vectors?.codes ?? '', baseline.vectors?.probe ?? ''];
    for (const content of [written, ...decoded.map((each) => Buffer.from(each, 'base64').toString('latin1'))]) {
      expect(content).not.toMatch(/zanzibar|word\d/);
    }
  });

  it.each([
    ['a text', 'baseline'],
    ['another format', { ...baselineOf(madeUp(Random.fromSeed(3), 30)), format: 2 }],
    [
      'a width that does not fit',
      { ...baselineOf(madeUp(Random.fromSeed(3), 30)), vectors: { width: 3, codes: 'AAAA', probe: 'AA==' } },
    ],
  ])('is refused if it is %s', (_, value) => {
    expect(() => requireBaseline(value)).toThrow(expect.objectContaining({ code: 'validation' }));
  });

  it('belongs to one model: its labels, and its encoder up to rounding', () => {
    const baseline = baselineOf(madeUp(Random.fromSeed(4), 30));
    const labels = ['yes', 'no', 'never'];
    const near = probe.map((each) => 3 * each + 0.01);
    const check = (given: Parameters<typeof requireSameModel>[1]) => () => requireSameModel(baseline, given);
    expect(check({ labels, probe: near })).not.toThrow();
    expect(check({ labels, probe: probe.toReversed() })).toThrow(/another model, whose vectors/);
    expect(check({ labels, probe: probe.slice(1) })).toThrow(/another model, whose vectors/);
    expect(check({ labels: [...labels, 'always'], probe })).toThrow(/another model, whose labels/);
    expect(check({ labels: undefined, probe })).toThrow(/another model, whose labels/);
  });
});

describe('a comparison', () => {
  const usual = baselineOf(madeUp(Random.fromSeed(10), 200));

  it('gives a false alarm in at most 5 % of the comparisons, whether the baseline is of other or the same texts', () => {
    const random = Random.fromSeed(11);
    let alarms = 0;
    for (let round = 0; round < 100; round += 1) {
      const some = madeUp(random, 80);
      const known = round % 2 === 0 ? textsOf(madeUp(random, 200)) : textsOf(some);
      if (driftOf(baselineOf(some, known), madeUp(random, 60), round).alarm) alarms += 1;
    }
    // With a level of 5 %, 11 alarms or more have a probability of 1.2 %.
    expect(alarms).toBeLessThanOrEqual(10);
  });

  it.each([
    ['knownShare', { vocabulary: 3000 }, /words and word pairs/],
    ['labels', { yes: 0.7 }, /yes from .* to/],
    ['vectors', { shift: 2 }, /vectors/],
  ] as const)('finds that %s changed, and says so', (test, source, reason) => {
    const drift = driftOf(usual, madeUp(Random.fromSeed(12), 150, source));
    expect(drift.alarm).toBe(true);
    expect(drift.tests.find(({ name }) => name === test)?.adjusted).toBeLessThan(0.05);
    expect(drift.reasons.some((each) => reason.test(each))).toBe(true);
  });

  it('finds texts that are twice as long', () => {
    const long = madeUp(Random.fromSeed(13), 150).map((each) => ({ ...each, text: `${each.text} ${each.text}` }));
    expect(driftOf(usual, long).tests.find(({ name }) => name === 'length')?.adjusted).toBeLessThan(0.001);
  });

  it('has intervals of the labels that hold together, and no label that no text has', () => {
    const { labels = [] } = driftOf(usual, madeUp(Random.fromSeed(14), 150, { yes: 0.7 }));
    expect(labels.map(({ label }) => label).sort()).toEqual(['no', 'yes']);
    for (const { shift, baseline, share, interval } of labels) {
      expect(shift).toBeCloseTo(share - baseline, 12);
      expect(interval[0] <= shift && shift <= interval[1]).toBe(true);
      expect(interval[0] > 0 || interval[1] < 0).toBe(true);
    }
  });

  it('tests nothing below 20 texts, and says so', () => {
    const drift = driftOf(usual, madeUp(Random.fromSeed(15), 19, { prefix: 'fremd', shift: 5 }));
    expect(drift).toMatchObject({ texts: 19, isEnough: false, alarm: false, tests: [] });
    expect(drift.reasons).toEqual([expect.stringContaining('at least 20')]);
    expect(driftOf(usual, [])).toMatchObject({ texts: 0, isEnough: false, alarm: false, oddest: [] });
  });

  it('lists the planted texts as the oddest, with what is odd', () => {
    const some = madeUp(Random.fromSeed(16), 100);
    const [strange] = madeUp(Random.fromSeed(17), 1, { prefix: 'fremd' });
    const far = { ...some[40], text: some[40]?.text ?? '', labels: ['no'], vector: new Float32Array(WIDTH).fill(-4) };
    const planted = some.map((each, at) => (at === 7 && strange ? { ...strange, vector: far.vector } : each));
    const { oddest } = driftOf(usual, planted);
    expect(oddest).toHaveLength(20);
    expect(oddest[0]).toMatchObject({ index: 7, knownShare: 0 });
    expect(oddest[0]?.reason).toMatch(/100\.0 % of its words and word pairs are new/);
    expect(oddest.map(({ score }) => score)).toEqual(oddest.map(({ score }) => score).sort((a, b) => b - a));
  });

  it('gives the same answer for the same seed', () => {
    const some = madeUp(Random.fromSeed(18), 60);
    expect(driftOf(usual, some, 4)).toEqual(driftOf(usual, some, 4));
  });
});
