/** Figures against recorded reports of scikit-learn and seqeval (`npm run bench -- evaluation --record`), and by hand. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { intervalsOf, quantile } from '../../src/easy/evaluation/bootstrap.js';
import { labelEvaluation } from '../../src/easy/evaluation/label-evaluation.js';
import { passageEvaluation } from '../../src/easy/evaluation/passage-evaluation.js';
import { allAtOnce } from '../../src/pauses.js';
import { evaluationCases } from './evaluation-cases.js';
import { evaluationsOf, namedFigures, reportedFigures } from './evaluation-figures.js';

const part = z.object({ report: z.record(z.string(), z.unknown()), accuracy: z.number().optional() });
const recorded = z
  .object({
    labels: part.extend({ names: z.array(z.string()), confusion: z.array(z.array(z.number())) }),
    multilabel: part,
    entities: part,
  })
  .parse(JSON.parse(readFileSync(new URL('recorded-reports.json', import.meta.url), 'utf8')));
const ours = evaluationsOf(evaluationCases());

describe('figures', () => {
  it.each(['labels', 'multilabel', 'entities'] as const)("of %s equal Python's to 1e-6", (kind) => {
    const mine = namedFigures(ours[kind]);
    const theirs = reportedFigures(recorded[kind].report);
    expect(theirs.size).toBeGreaterThan(15);
    for (const [name, value] of theirs) expect(mine.get(name), name).toBeCloseTo(value, 6);
  });

  it('have as many classes as the reports: none beside those that occur', () => {
    expect(ours.labels.classes.map(({ label }) => label).sort()).toEqual(recorded.labels.names);
  });

  it("have scikit-learn's accuracy and confusions", () => {
    expect(ours.labels.accuracy).toBeCloseTo(recorded.labels.accuracy ?? Number.NaN, 6);
    expect(ours.multilabel.accuracy).toBeCloseTo(recorded.multilabel.accuracy ?? Number.NaN, 6);
    const { labels = [], counts = [] } = ours.labels.confusion ?? {};
    const order = recorded.labels.names.map((name) => labels.indexOf(name));
    expect(order.map((row) => order.map((column) => counts[row]?.[column]))).toEqual(
      recorded.labels.confusion,
    );
    expect(ours.multilabel.confusion).toBeUndefined();
  });

  it('name the mistakes, the surest first', () => {
    const answer = (label: string, score: number) => ({
      ...{ kind: 'labels' as const, label, score, labels: [label] },
      scores: [{ label, score }],
    });
    const rows = [
      { text: 'unsure', actual: ['a'], answer: answer('b', 0.6) },
      { text: 'right', actual: ['a'], answer: answer('a', 0.9) },
      { text: 'sure', actual: ['b'], answer: answer('a', 0.95) },
    ];
    const judging = { labels: ['a', 'b'], isMultilabel: false, resamples: 100, seed: 0 };
    const { mistakes, calibrationError } = allAtOnce(labelEvaluation(rows, judging));
    expect(mistakes.map(({ text }) => text)).toEqual(['sure', 'unsure']);
    // Each decision has a bin of its own, of fifteen: |0 − 0.6|, |1 − 0.9| and |0 − 0.95|, over three.
    expect(calibrationError).toBeCloseTo((0.6 + 0.1 + 0.95) / 3, 10);
  });
});

describe('figures of passages', () => {
  const ranked = (...texts: string[]) => texts.map((text, at) => ({ text, score: 1 / (at + 1) }));
  const rows = [
    { question: 'first', answers: ['a'], ranked: ranked('a', 'b', 'c') },
    { question: 'third', answers: ['c'], ranked: ranked('a', 'b', 'c') },
    { question: 'two of three', answers: ['a', 'c'], ranked: ranked('a', 'b', 'c') },
    { question: 'never', answers: ['z'], ranked: ranked('a', 'b', 'c') },
  ];
  const figures = allAtOnce(passageEvaluation(rows, { resamples: 200, seed: 1 }));

  it('are those worked out by hand', () => {
    expect(figures).toMatchObject({ rows: 4, top1: 0.5, top3: 0.75, top5: 0.75, top10: 0.75 });
    expect(figures.mrr).toBeCloseTo((1 + 1 / 3 + 1 + 0) / 4, 12);
    const both = (1 + 1 / 2) / (1 + 1 / Math.log2(3));
    expect(figures.ndcg).toBeCloseTo((1 + 1 / 2 + both + 0) / 4, 12);
  });

  it('name what was put first wrongly', () => {
    expect(figures.mistakes.map(({ text }) => text)).toEqual(['third', 'never']);
  });
});

describe('intervals', () => {
  it('hold about 95 of 100 samples of a share', () => {
    const rows = 400;
    const right = Array.from({ length: rows }, (_, row): number => (row < 300 ? 1 : 0));
    const share = (times: Int32Array) => ({
      share: right.reduce((sum, each, at) => sum + each * (times[at] ?? 0), 0) / rows,
    });
    const { share: interval } = allAtOnce(intervalsOf(rows, ['share'], share, { resamples: 4000, seed: 3 }));
    // The normal approximation of a share of 0.75 in 400: ± 1.96 · √(0.75 · 0.25 / 400).
    const half = 1.96 * Math.sqrt((0.75 * 0.25) / rows);
    expect(interval[0]).toBeCloseTo(0.75 - half, 2);
    expect(interval[1]).toBeCloseTo(0.75 + half, 2);
  });

  it('interpolate between the nearest values', () => {
    expect(quantile(Float64Array.of(0, 10, 20), 0.25)).toBe(5);
    expect(quantile(Float64Array.of(0, 10, 20), 1)).toBe(20);
  });
});
