import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { type LabelAnswer, suggestTexts, type TrainedModel, train } from 'orchard-nlp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../../src/api/answers.js';
import { centralTexts, groupsOf, TextSample, uncertaintyOf } from '../../src/api/suggest-texts.js';
import { Random } from '../../src/system/numbers.js';
import { runToEnd } from '../../src/system/pauses.js';
import { rows } from '../public/sentiments.js';
import { writeCheckpoint } from '../support/checkpoint-builder.js';

/** Which texts to label next. */

const labels = (...scores: number[]): Answer => ({
  ...{ kind: 'labels', label: 'a', score: scores[0] ?? 0, labels: ['a'] },
  scores: scores.map((score, at) => ({ label: `label ${at}`, score })),
});
const entities = (...scores: number[]): Answer => ({
  kind: 'entities',
  entities: scores.map((score) => ({ type: 'PER', text: 'Ada', start: 0, end: 3, score })),
});

describe('uncertainty', () => {
  it('is worked out by hand for each kind of answer', () => {
    expect(uncertaintyOf(labels(0.7, 0.2, 0.1), false)).toBeCloseTo(0.5, 12);
    expect(uncertaintyOf(labels(0.5, 0.5), false)).toBe(1);
    expect(uncertaintyOf(labels(0.9, 0.4, 0.1), true)).toBeCloseTo(0.8, 12);
    expect(uncertaintyOf(entities(0.9, 0.5), false)).toBeCloseTo(0.55, 12);
    expect(uncertaintyOf(entities(), false)).toBe(0);
    const passages = [0.6, 0.4].map((score) => ({ text: 'a', score }));
    expect(uncertaintyOf({ kind: 'passages', passages }, false)).toBeCloseTo(0.8, 12);
  });
});

describe('a sample of texts', () => {
  it('has each different text once, and no more than asked for', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 5 })), { maxLength: 80 }),
        fc.integer({ min: 1, max: 50 }),
        (given, most) => {
          const sample = new TextSample(most, Random.fromSeed(1));
          for (const [index, [word, spaces]] of given.entries()) {
            sample.add({ text: `${' '.repeat(spaces)}Word ${word}`, index, uncertainty: 0.5 });
          }
          const kept = sample.texts().map(({ text }) => text.trim());
          const different = new Set(given.map(([word]) => `Word ${word}`));
          expect(new Set(kept).size).toBe(Math.min(most, different.size));
          expect(kept).toHaveLength(new Set(kept).size);
          expect([...different]).toEqual(expect.arrayContaining(kept));
        },
      ),
      { numRuns: 50 },
    );
  });

  it('has each of many texts as often', () => {
    const times = new Map<number, number>();
    for (let seed = 0; seed < 400; seed += 1) {
      const sample = new TextSample(5, Random.fromSeed(seed));
      for (let index = 0; index < 40; index += 1) sample.add({ text: `${index}`, index, uncertainty: index / 40 });
      for (const { index } of sample.texts()) times.set(index, (times.get(index) ?? 0) + 1);
    }
    // 400 · 5 / 40 = 50 each, with a standard deviation of 6.6.
    expect(Math.min(...times.values())).toBeGreaterThan(50 - 5 * 6.6);
    expect(Math.max(...times.values())).toBeLessThan(50 + 5 * 6.6);
    expect(times.size).toBe(40);
  });
});

describe('the texts at the centres of groups', () => {
  const at = (degrees: number) => {
    const angle = (degrees * Math.PI) / 180;
    return Float32Array.of(Math.cos(angle), Math.sin(angle));
  };
  const central = (vectors: readonly Float32Array[], uncertainties: readonly number[], count: number, seed = 0) =>
    runToEnd(centralTexts(vectors, uncertainties, count, Random.fromSeed(seed)));

  it('are the middle one of each bundle', () => {
    const bundles = [0, 120, 240].flatMap((angle) => [-8, 4, 0, -4, 8].map((place) => at(angle + place)));
    for (const seed of [1, 2, 3, 4, 5]) {
      const groups = runToEnd(groupsOf(bundles, Array(15).fill(0.5), 3, Random.fromSeed(seed)));
      expect(groups.map((group) => group[0]).sort((a = 0, b = 0) => a - b)).toEqual([2, 7, 12]);
      expect(groups.map((group) => group.length)).toEqual([5, 5, 5]);
      expect(central(bundles, Array(15).fill(0.5), 3, seed).sort((a, b) => a - b)).toEqual([2, 7, 12]);
    }
  });

  it('are where the uncertain texts are, worked out by hand', () => {
    const vectors = [at(0), at(30), at(90)];
    // One group. The angle of its centre is atan(Σ w·sin / Σ w·cos).
    expect(central(vectors, [0.5, 0.5, 0.5], 1)).toEqual([1]); // atan(0.75 / 0.933) = 39°
    expect(central(vectors, [0.9, 0.1, 0.1], 1)).toEqual([0]); // atan(0.15 / 0.987) = 9°
    expect(central(vectors, [0.1, 0.1, 0.9], 1)).toEqual([2]); // atan(0.95 / 0.187) = 79°
    expect(central(vectors, [0, 0, 0], 1)).toEqual([1]);
  });

  it('leave out texts that the model is sure of, however far they are', () => {
    // The chance that k-means++ begins with a sure text is below 1 in 100,000.
    const vectors = [at(0), at(2), at(40), at(42), at(180), at(270)];
    for (const seed of [1, 2, 3, 4, 5]) {
      const chosen = central(vectors, [0.9, 0.8, 0.9, 0.8, 0, 0], 2, seed);
      expect(chosen.map((point) => Math.floor(point / 2)).sort((a, b) => a - b)).toEqual([0, 1]);
    }
  });

  it('take the second of each group after the first, the most uncertain before', () => {
    // Equal points make one group each: 0 to 2 and 3 to 5.
    const vectors = [at(0), at(0), at(0), at(90), at(90), at(90)];
    const uncertainties = [0.5, 0.5, 0.5, 0.9, 0.9, 0.9];
    expect(central(vectors, uncertainties, 3)).toEqual([3, 0, 4]);
    expect(central(vectors, uncertainties, 6)).toEqual([3, 0, 4, 1, 5, 2]);
  });

  it('are all of them, once each, if that many are asked for', () => {
    const vectors = Array.from({ length: 12 }, (_, place) => at(30 * place));
    expect(central(vectors, Array(12).fill(0.1), 12).sort((a, b) => a - b)).toEqual([...vectors.keys()]);
  });
});

describe('suggestTexts', () => {
  let folder: string;
  let model: TrainedModel<LabelAnswer>;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'orchard-suggest-'));
    const base = writeCheckpoint(join(folder, 'base'));
    const trained = await train({ rows, base, epochs: 1, threads: 1, tuning: { quantize: false } });
    if (trained.isErr()) throw trained.error;
    model = trained.value;
  });
  afterAll(async () => {
    await model?.close();
    await rm(folder, { recursive: true });
  });

  const sure = ['this lamp works perfectly', 'the room is great', 'it broke at once', 'my order is terrible'];
  const unsure = ['the lamp and the room', 'great and awful', 'the the the', 'is it'];

  it('names texts by their places, once each, with how unsure the model is', async () => {
    // The same few texts again and again: more than are kept at a time.
    function* texts() {
      for (let time = 0; time < 600; time += 1) yield* [...sure, ...unsure];
    }
    const suggested = (await suggestTexts(model, texts(), { count: 3 }))._unsafeUnwrap();
    const all = (await model.predict([...sure, ...unsure]))._unsafeUnwrap();
    const margins = all.map(({ scores }) => 1 - ((scores[0]?.score ?? 0) - (scores[1]?.score ?? 0)));
    expect(suggested).toHaveLength(3);
    expect(new Set(suggested.map(({ text }) => text)).size).toBe(3);
    for (const { text, index, uncertainty } of suggested) {
      expect(text).toBe([...sure, ...unsure][index]);
      expect(uncertainty).toBeCloseTo(margins[index] ?? Number.NaN, 6);
    }
    expect(suggested.map((each) => each.uncertainty)).toEqual(
      suggested.map((each) => each.uncertainty).sort((a, b) => b - a),
    );
  });

  it('gives the same for the same seed, and all texts where there are no more', async () => {
    const texts = [...sure, ...unsure];
    const first = await suggestTexts(model, texts, { count: 4, seed: 5 });
    expect(first._unsafeUnwrap()).toEqual((await suggestTexts(model, texts, { count: 4, seed: 5 }))._unsafeUnwrap());
    expect((await suggestTexts(model, texts, { count: 50 }))._unsafeUnwrap()).toHaveLength(texts.length);
    expect((await suggestTexts(model, []))._unsafeUnwrap()).toEqual([]);
  });

  it('passes over blank texts, and counts them as places', async () => {
    const all = (await suggestTexts(model, ['', sure[0] ?? '', ' \n', unsure[0] ?? ''], { count: 9 }))._unsafeUnwrap();
    expect(all.map(({ text, index }) => [index, text]).sort()).toEqual([
      [1, sure[0]],
      [3, unsure[0]],
    ]);
  });

  it('refuses what is no text, and stops at the signal', async () => {
    const wrong: object = { count: 0 };
    expect((await suggestTexts(model, sure, wrong))._unsafeUnwrapErr().code).toBe('validation');
    const signal = AbortSignal.abort();
    expect((await suggestTexts(model, sure, { signal }))._unsafeUnwrapErr().code).toBe('aborted');
  });
});
