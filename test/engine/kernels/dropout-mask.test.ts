import { describe, expect, it } from 'vitest';
import { Arena, type DropoutState, loadKernels, quantizeDropoutRate } from '../../../src/engine/index.js';

const START: DropoutState = { seed: 7, position: 0 };

/** A mask of `count` elements in an arena of its own, and the state after it. */
function draw(count: number, rate: number, state = START): { mask: Float32Array; next: DropoutState } {
  const arena = new Arena(Arena.bytesFor([count]));
  const mask = arena.float32(count);
  return { mask, next: loadKernels(arena).dropoutMask(mask, rate, state) };
}

/** Philox4x32, word by word with big integers (Salmon et al. 2011, section 4.3). */
function philox(rounds: number, counter: readonly number[], key: readonly number[]): number[] {
  const WORD = 0xffff_ffffn;
  let [x0 = 0n, x1 = 0n, x2 = 0n, x3 = 0n] = counter.map(BigInt);
  let [k0 = 0n, k1 = 0n] = key.map(BigInt);
  for (let round = 0; round < rounds; round++) {
    const product0 = 0xd2511f53n * x0;
    const product1 = 0xcd9e8d57n * x2;
    [x0, x1, x2, x3] = [(product1 >> 32n) ^ x1 ^ k0, product1 & WORD, (product0 >> 32n) ^ x3 ^ k1, product0 & WORD];
    k0 = (k0 + 0x9e3779b9n) & WORD;
    k1 = (k1 + 0xbb67ae85n) & WORD;
  }
  return [x0, x1, x2, x3].map(Number);
}

const PI_COUNTER = [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344];
const PI_KEY = [0xa4093822, 0x299f31d0];

describe('dropoutMask', () => {
  it('draws from Philox4x32-7, here against big integers that meet the published test vectors', () => {
    // Random123's kat_vectors.
    expect(philox(10, PI_COUNTER, PI_KEY)).toEqual([0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1]);
    expect(philox(7, PI_COUNTER, PI_KEY)).toEqual([0x4dfccaba, 0x190a87f0, 0xc47362ba, 0xb6b5242a]);

    const state = { seed: 0xdeadbeef, position: 5 * 2 ** 32 + 0xffff_ffff };
    const { threshold, kept } = quantizeDropoutRate(0.3);
    const expected: number[] = [];
    for (const [low, high] of [
      [0xffff_ffff, 5],
      [0, 6],
    ] as const) {
      const blocks = [0, 1, 2, 3].map((block) => philox(7, [block, low, high, 0], [state.seed, 0]));
      for (let element = 0; element < 32; element++) {
        const word = blocks[(element % 8) >> 1]?.[element >> 3] ?? 0;
        const drawn = element % 2 ? word >>> 16 : word & 0xffff;
        expected.push(drawn < threshold ? 0 : Math.fround(kept));
      }
    }
    expect([...draw(64, 0.3, state).mask]).toEqual(expected);
  });

  it.each([0.1, 0.25, 0.5, 0.9])('at rate %f drops that share and keeps a mean of 1', (rate) => {
    const count = 1 << 20;
    const { mask } = draw(count, rate);
    const { threshold, kept } = quantizeDropoutRate(rate);
    const exact = threshold / 65_536;
    expect(new Set(mask)).toEqual(new Set([0, Math.fround(kept)]));
    const dropped = mask.filter((value) => value === 0).length;
    // A binomial count is within 4 standard deviations; the seed is fixed, so the outcome is too.
    const deviation = Math.sqrt((exact * (1 - exact)) / count);
    expect(Math.abs(dropped / count - exact)).toBeLessThan(4 * deviation);
    const mean = (kept * (count - dropped)) / count;
    expect(Math.abs(mean - 1)).toBeLessThan(4 * deviation * kept);
  });

  it('is independent from element to element, at every distance up to 256', () => {
    const count = 1 << 18;
    const { mask } = draw(count, 0.5);
    const signs = mask.map((value) => value - 1);
    for (let lag = 1; lag <= 256; lag++) expect(Math.abs(correlation(signs, signs, lag))).toBeLessThan(4.5);
  });

  it('is independent from call to call and from seed to seed', () => {
    const count = 1 << 18;
    const first = draw(count, 0.5);
    const second = draw(count, 0.5, first.next);
    const otherSeed = draw(count, 0.5, { seed: START.seed + 1, position: 0 });
    const signs = [first, second, otherSeed].map(({ mask }) => mask.map((value) => value - 1));
    const [a = new Float32Array(), b = new Float32Array(), c = new Float32Array()] = signs;
    for (const lag of [0, 1, 2, 4, 8, 32]) {
      expect(Math.abs(correlation(a, b, lag))).toBeLessThan(4.5);
      expect(Math.abs(correlation(a, c, lag))).toBeLessThan(4.5);
    }
  });

  it('gives whole patterns of eight elements equally often (chi-square)', () => {
    const patterns = new Array<number>(256).fill(0);
    const { mask } = draw(8 << 16, 0.5);
    for (let start = 0; start < mask.length; start += 8) {
      const pattern = mask.subarray(start, start + 8).reduce((bits, value) => bits * 2 + (value > 0 ? 1 : 0), 0);
      patterns[pattern] = (patterns[pattern] ?? 0) + 1;
    }
    const expected = (1 << 16) / 256;
    const chiSquare = patterns.reduce((sum, seen) => sum + (seen - expected) ** 2 / expected, 0);
    // 255 degrees of freedom: mean 255, standard deviation 22.6.
    expect(chiSquare).toBeGreaterThan(255 - 4 * 22.6);
    expect(chiSquare).toBeLessThan(255 + 4 * 22.6);
  });

  it('continues from a stored state exactly where it stopped', () => {
    const whole = draw(96, 0.4);
    const head = draw(32, 0.4);
    const resumed: DropoutState = JSON.parse(JSON.stringify(head.next));
    const tail = draw(64, 0.4, resumed);
    expect([...head.mask, ...tail.mask]).toEqual([...whole.mask]);
    expect(tail.next).toEqual(whole.next);
  });

  it('uses no draw twice when a mask ends within a group, and writes nothing beyond its end', () => {
    for (let count = 0; count <= 70; count++) {
      const arena = new Arena(Arena.bytesFor([count + 40]));
      const room = arena.float32(count + 40).fill(-1);
      const next = loadKernels(arena).dropoutMask(room.subarray(0, count), 0.5, START);
      expect(next.position).toBe(Math.ceil(count / 32));
      expect([...room.subarray(0, count)]).toEqual([...draw(96, 0.5).mask.subarray(0, count)]);
      expect(room.subarray(count).every((value) => value === -1)).toBe(true);
    }
  });

  it('keeps everything at rate 0', () => {
    expect([...draw(5, 0).mask]).toEqual([1, 1, 1, 1, 1]);
  });

  it.each([-0.1, 1, 0.999999, Number.NaN])('refuses rate %f', (rate) => {
    expect(() => draw(4, rate)).toThrow(RangeError);
  });
});

/** Correlation of a[i] with b[i + lag] for values of mean 0 and variance 1, in standard deviations from 0. */
function correlation(a: Float32Array, b: Float32Array, lag: number): number {
  let sum = 0;
  const count = a.length - lag;
  for (let index = 0; index < count; index++) sum += (a[index] ?? 0) * (b[index + lag] ?? 0);
  return sum / Math.sqrt(count);
}
