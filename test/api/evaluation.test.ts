import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { bootstrap, type Evaluation, judge, quantile } from '../../src/api/evaluate.js';
import { evaluationReport, loadModel, orThrow } from '../../src/index.js';
import { runToEnd } from '../../src/system/pauses.js';
import { evaluationCases } from './evaluation-cases.js';
import { evaluationsOf, namedFigures, reportedFigures } from './evaluation-figures.js';

/** Figures against recorded reports of scikit-learn and seqeval (`npm run bench -- evaluation --record`), and by hand. */

const part = z.object({ report: z.record(z.string(), z.unknown()), accuracy: z.number().optional() });
const recorded = z
  .object({
    labels: part.extend({ names: z.array(z.string()), confusion: z.array(z.array(z.number())) }),
    multilabel: part,
    entities: part,
  })
  .parse(JSON.parse(readFileSync(new URL('recorded-reports.json', import.meta.url), 'utf8')));
const ours = evaluationsOf(evaluationCases());

function ofKind<Kind extends Evaluation['kind']>(kind: Kind, evaluation: Evaluation) {
  const isOfKind = (each: Evaluation): each is Extract<Evaluation, { kind: Kind }> => each.kind === kind;
  if (!isOfKind(evaluation)) throw new Error(`not an evaluation of ${kind}`);
  return evaluation;
}

describe('figures', () => {
  it.each(['labels', 'multilabel', 'entities'] as const)("of %s equal Python's to 1e-6", (kind) => {
    const mine = namedFigures(ours[kind]);
    const theirs = reportedFigures(recorded[kind].report);
    expect(theirs.size).toBeGreaterThan(15);
    for (const [name, value] of theirs) expect(mine.get(name), name).toBeCloseTo(value, 6);
  });

  it('have the classes of the reports, which are those that occur', () => {
    expect(
      ofKind('labels', ours.labels)
        .classes.map(({ label }) => label)
        .sort(),
    ).toEqual(recorded.labels.names);
  });

  it("have scikit-learn's accuracy and confusions", () => {
    const [single, several] = [ofKind('labels', ours.labels), ofKind('labels', ours.multilabel)];
    expect(single.accuracy).toBeCloseTo(recorded.labels.accuracy ?? Number.NaN, 6);
    expect(several.accuracy).toBeCloseTo(recorded.multilabel.accuracy ?? Number.NaN, 6);
    const { labels = [], counts = [] } = single.confusion ?? {};
    const order = recorded.labels.names.map((name) => labels.indexOf(name));
    expect(order.map((row) => order.map((column) => counts[row]?.[column]))).toEqual(recorded.labels.confusion);
    expect(several.confusion).toBeUndefined();
  });

  it('name the types of entities that only the rows have, and those of the model', () => {
    const rows = ['Rome', 'Oslo'].map((text) => ({
      text,
      labels: [],
      entities: [{ start: 0, end: 4, type: 'Town' }],
      passages: [],
    }));
    const answers = rows.map(() => ({ kind: 'entities' as const, entities: [] }));
    const model = {
      kind: 'entities',
      type: 'named-entity-recognition',
      name: 'model',
      labels: ['TOWN', 'PER'],
    } as const;
    const evaluation = runToEnd(judge(model, rows, answers, { resamples: 100, seed: 0 }));
    expect(evaluation).toMatchObject({
      unknownLabels: [{ label: 'Town', rows: 2, similarTo: 'TOWN' }],
      modelLabels: ['TOWN', 'PER'],
    });
    expect(
      runToEnd(judge({ ...model, labels: ['Town'] }, rows, answers, { resamples: 100, seed: 0 })),
    ).not.toHaveProperty('modelLabels');
  });

  it('name the mistakes, the surest first', () => {
    const answer = (label: string, score: number) => ({
      ...{ kind: 'labels' as const, label, score, labels: [label] },
      scores: [{ label, score }],
    });
    const rows = [
      { text: 'unsure', labels: ['a'], answer: answer('b', 0.6) },
      { text: 'right', labels: ['a'], answer: answer('a', 0.9) },
      { text: 'sure', labels: ['b'], answer: answer('a', 0.95) },
    ];
    const type = 'binary-text-classification';
    const judged = judge(
      { kind: 'labels', type, name: 'model', labels: ['a', 'b'] },
      rows.map(({ text, labels }) => ({ text, labels, entities: [], passages: [] })),
      rows.map((row) => row.answer),
      { resamples: 100, seed: 0 },
    );
    const { mistakes, calibrationError } = ofKind('labels', runToEnd(judged));
    expect(mistakes.map(({ text }) => text)).toEqual(['sure', 'unsure']);
    // Each decision has a bin of its own, of fifteen: |0 − 0.6|, |1 − 0.9| and |0 − 0.95|, over three.
    expect(calibrationError).toBeCloseTo((0.6 + 0.1 + 0.95) / 3, 10);
  });
});

describe('figures of passages', () => {
  const ranked = (...texts: string[]) => texts.map((text, at) => ({ text, score: 1 / (at + 1) }));
  const rows = [
    { text: 'first', passages: ['a'] },
    { text: 'third', passages: ['c'] },
    { text: 'two of three', passages: ['a', 'c'] },
    { text: 'never', passages: ['z'] },
  ].map((row) => ({ ...row, labels: [], entities: [] }));
  const judged = judge(
    { kind: 'passages', type: 'question-answering', name: 'model', labels: [] },
    rows,
    rows.map(() => ({ kind: 'passages', passages: ranked('a', 'b', 'c') })),
    { resamples: 200, seed: 1 },
  );
  const figures = ofKind('passages', runToEnd(judged));

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
    const interval = runToEnd(bootstrap(rows, share, { resamples: 4000, seed: 3 }))('share');
    // The normal approximation of a share of 0.75 in 400: ± 1.96 · √(0.75 · 0.25 / 400).
    const half = 1.96 * Math.sqrt((0.75 * 0.25) / rows);
    expect(interval[0]).toBeCloseTo(0.75 - half, 2);
    expect(interval[1]).toBeCloseTo(0.75 + half, 2);
  });

  it("are Wilson's where every sample gives all rows, or none", () => {
    const figures = () => ({ all: 1, none: 0, constant: 0.5 });
    const intervalOf = runToEnd(bootstrap(244, figures, { resamples: 100, seed: 3 }));
    // z² / (n + z²) for none of n, with z = 1.96.
    const miss = 1.96 ** 2 / (244 + 1.96 ** 2);
    expect(intervalOf('all')).toEqual([expect.closeTo(1 - miss, 12), expect.closeTo(1, 12)]);
    expect(intervalOf('none')).toEqual([expect.closeTo(0, 12), expect.closeTo(miss, 12)]);
    expect(intervalOf('constant')).toEqual([0.5, 0.5]);
  });

  it('of a label rest on its rows, not on all', () => {
    const { intervals } = ofKind('labels', runToEnd(rareMissed()));
    // None of one: z² / (1 + z²).
    expect(intervals.positiveF1).toEqual([0, expect.closeTo(1.96 ** 2 / (1 + 1.96 ** 2), 12)]);
  });

  it('interpolate between the nearest values', () => {
    expect(quantile(Float64Array.of(0, 10, 20), 0.25)).toBe(5);
    expect(quantile(Float64Array.of(0, 10, 20), 1)).toBe(20);
  });
});

/** Of twenty rows, the only one of the label `rare` is answered wrongly. */
function rareMissed() {
  const rows = Array.from({ length: 20 }, (_, at) => ({ text: `${at}`, labels: [at === 0 ? 'rare' : 'usual'] }));
  const answer = { kind: 'labels' as const, label: 'usual', score: 0.9, labels: ['usual'], scores: [] };
  return judge(
    { kind: 'labels', type: 'binary-text-classification', name: 'model', labels: ['rare', 'usual'] },
    rows.map((row) => ({ ...row, entities: [], passages: [] })),
    rows.map(() => answer),
    { resamples: 100, seed: 0, positive: 'rare' },
  );
}

describe('rows that are left out', () => {
  it('are counted in a warning, which the report repeats', async () => {
    await using model = await orThrow(loadModel('sentiment-classification'));
    const rows = [
      { text: 'good', label: 'positive' },
      { text: ' ', label: 'negative' },
    ];
    const told = '1 row with a problem was left out, such as: rows.1.text: give a text that is not blank';
    const evaluation = await orThrow(model.evaluate(rows, { skipInvalid: true }));
    expect(evaluation).toMatchObject({ rows: 1, warnings: [{ kind: 'invalid_row', count: 1, message: told }] });
    expect(await orThrow(evaluationReport(evaluation))).toContain(`1 row; ${told}`);
    expect(await orThrow(model.evaluate(rows.slice(0, 1)))).not.toHaveProperty('warnings');
  });
});
