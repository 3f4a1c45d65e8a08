import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { type LabelAnswer, suggestTexts, type TrainedModel, train } from 'orchard-nlp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../../src/api/answers.js';
import { Candidates, spreadOut, uncertaintyOf } from '../../src/api/suggest-texts.js';
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

describe('candidates', () => {
  it('are the most uncertain of any number of texts, each different one once', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 5 })), {
          maxLength: 80,
        }),
        fc.integer({ min: 1, max: 10 }),
        (given, most) => {
          // The same text is always as uncertain: a model answers it alike.
          const uncertaintyFor = (word: number) => ((word * 7) % 41) / 41;
          const kept = new Candidates(most, Random.fromSeed(1));
          for (const [index, [word, spaces]] of given.entries()) {
            const text = `${' '.repeat(spaces)}Word ${word}`;
            kept.add({ text, index, uncertainty: uncertaintyFor(word) });
          }
          const different = [...new Set(given.map(([word]) => word))];
          const expected = different.map(uncertaintyFor).sort((a, b) => b - a);
          expect(kept.best().map(({ uncertainty }) => uncertainty)).toEqual(expected.slice(0, most));
        },
      ),
      { numRuns: 50 },
    );
  });
});

describe('texts that differ', () => {
  const at = (degrees: number) => {
    const angle = (degrees * Math.PI) / 180;
    return Float32Array.of(Math.cos(angle), Math.sin(angle));
  };
  const drawn = (vectors: readonly Float32Array[], weights: readonly number[], count: number, seed = 0) =>
    runToEnd(spreadOut(vectors, weights, count, Random.fromSeed(seed)));

  it('begin with the heaviest, and have one of each bundle before a second of any', () => {
    const bundles = [0, 120, 240].flatMap((angle) => Array.from({ length: 10 }, () => at(angle)));
    const weights = bundles.map((_, point) => (point === 17 ? 1 : 0.9));
    for (const seed of [1, 2, 3, 4, 5]) {
      const points = drawn(bundles, weights, 30, seed);
      expect(points[0]).toBe(17);
      expect(new Set(points.slice(0, 3).map((point) => Math.floor(point / 10))).size).toBe(3);
      expect([...points].sort((a, b) => a - b)).toEqual([...bundles.keys()]);
    }
  });

  it('are drawn by weight times squared distance', () => {
    // From 0°: 60° has the squared distance 1 and the weight 1, 180° has 4 and 0.5, so 1 : 2.
    const vectors = [at(0), at(60), at(180)];
    const second = Array.from({ length: 3000 }, (_, seed) => drawn(vectors, [2, 1, 0.5], 2, seed)[1]);
    const share = second.filter((point) => point === 2).length / second.length;
    expect(Math.abs(share - 2 / 3)).toBeLessThan(4 * Math.sqrt(2 / 9 / second.length));
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

  it('names the texts that the model is the least sure of, by their places, once each', async () => {
    // The same few texts again and again: more than are kept at a time.
    function* texts() {
      for (let time = 0; time < 60; time += 1) yield* [...sure, ...unsure];
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
    expect(suggested[0]?.uncertainty).toBeCloseTo(Math.max(...margins), 6);
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

  it('refuses what is no text, and stops at the signal', async () => {
    const wrong: object = { count: 0 };
    expect((await suggestTexts(model, sure, wrong))._unsafeUnwrapErr().code).toBe('validation');
    const signal = AbortSignal.abort();
    expect((await suggestTexts(model, sure, { signal }))._unsafeUnwrapErr().code).toBe('aborted');
  });
});
