import { ConfusionMatrix } from 'ml-confusion-matrix';
import { describe, expect, it } from 'vitest';
import { classificationEvaluation as classificationEvaluationSteps } from '../../../src/families/classification/evaluation.js';
import { calibrationBins } from '../../../src/families/evaluation.js';
import { MAX_MISTAKES, modelEvaluationSchema } from '../../../src/models/index.js';
import { Random } from '../../../src/system/numbers.js';
import { atOnce } from '../../support/at-once.js';

const classificationEvaluation = atOnce(classificationEvaluationSteps);

const logit = (probability: number) => Math.log(probability / (1 - probability));
const rowsOf = (...labelIds: number[][]) => labelIds.map((ids, row) => ({ text: `row ${row}`, labelIds: ids }));

describe('classificationEvaluation of a binary model, by hand', () => {
  // The second label's probability in five rows; rows 2 and 3 are wrong.
  const logits = Float32Array.from([0.92, 0.62, 0.83, 0.28, 0.17], logit);
  const evaluation = classificationEvaluation(
    { kind: 'binary', labels: ['no', 'yes'], dev: rowsOf([1], [1], [0], [1], [0]) },
    {
      link: 'sigmoid',
      outputs: 1,
      targets: Uint8Array.of(1, 1, 0, 1, 0),
      logits,
      uncalibrated: logits.map((each) => 10 * each),
    },
  );

  it('counts precision, recall, F1 and support of both labels', () => {
    // yes: TP 2, FP 1, FN 1. no: TP 1, FP 1, FN 1.
    expect(evaluation.classes).toEqual([
      { label: 'no', precision: 0.5, recall: 0.5, f1: 0.5, support: 2 },
      { label: 'yes', precision: 2 / 3, recall: 2 / 3, f1: 2 / 3, support: 3 },
    ]);
  });

  it('counts confusions as [actual][predicted]', () => {
    expect(evaluation.confusion).toEqual({
      labels: ['no', 'yes'],
      counts: [
        [1, 1],
        [1, 2],
      ],
    });
  });

  it('lists mistakes, the most confident first', () => {
    expect(evaluation.mistakes).toEqual([
      { text: 'row 2', expected: ['no'], predicted: ['yes'], score: expect.closeTo(0.83, 6) },
      { text: 'row 3', expected: ['yes'], predicted: ['no'], score: expect.closeTo(0.72, 6) },
    ]);
  });

  it('bins decisions by confidence, and has the calibration error before and after', () => {
    // Confidence 0.92 right, 0.62 right, 0.83 wrong, 0.72 wrong, 0.83 right; the two of 0.83 share a bin.
    const { bins = [], error, error_before = 0 } = evaluation.calibration ?? {};
    expect(bins.reduce((sum, { rows }) => sum + rows, 0)).toBe(5);
    expect(bins.find(({ rows }) => rows === 2)).toEqual({
      confidence: expect.closeTo(0.83, 6),
      accuracy: 0.5,
      rows: 2,
    });
    expect(error).toBeCloseTo((0.08 + 0.38 + 0.72 + (2 * 0.83 - 1)) / 5, 6);
    expect(error_before).toBeGreaterThan(0.35);
  });

  it('fits the schema of evaluation.json', () => {
    expect(modelEvaluationSchema.safeParse(JSON.parse(JSON.stringify(evaluation))).success).toBe(true);
  });
});

describe('classificationEvaluation of a multiclass model', () => {
  it('counts as ml-confusion-matrix does', () => {
    const random = Random.fromSeed(5);
    const labels = ['a', 'b', 'c', 'd'];
    const dev = rowsOf(...Array.from({ length: 200 }, () => [Math.floor(4 * random.uniform())]));
    const targets = new Uint8Array(800);
    for (const [row, { labelIds }] of dev.entries()) for (const id of labelIds) targets[4 * row + id] = 1;
    const logits = Float32Array.from(targets, (target) => 2 * target + random.normal());
    const rows = { link: 'softmax', outputs: 4, targets, logits, uncalibrated: logits } as const;
    const evaluation = classificationEvaluation({ kind: 'multiclass', labels, dev }, rows);
    const predicted = dev.map((_, row) => {
      const mine = [...logits.subarray(4 * row, 4 * row + 4)];
      return labels[mine.indexOf(Math.max(...mine))] ?? '';
    });
    const actual = dev.map(({ labelIds: [id = 0] }) => labels[id] ?? '');
    const oracle = ConfusionMatrix.fromLabels(actual, predicted, { sort: (a, b) => (a < b ? -1 : 1) });
    expect(evaluation.confusion?.counts).toEqual(oracle.getMatrix());
    for (const { label, precision, recall, f1, support } of evaluation.classes ?? []) {
      expect(precision).toBeCloseTo(oracle.getPositivePredictiveValue(label), 12);
      expect(recall).toBeCloseTo(oracle.getTruePositiveRate(label), 12);
      expect(f1).toBeCloseTo(oracle.getF1Score(label), 12);
      expect(support).toBe(oracle.getPositiveCount(label));
    }
    expect(evaluation.mistakes).toHaveLength(Math.min(MAX_MISTAKES, oracle.getFalseCount()));
  });
});

describe('classificationEvaluation of a multilabel model, by hand', () => {
  const probabilities = [
    [0.9, 0.2],
    [0.7, 0.6],
    [0.1, 0.05],
  ];
  const logits = Float32Array.from(probabilities.flat(), logit);
  const evaluation = classificationEvaluation(
    { kind: 'multilabel', labels: ['x', 'y'], dev: rowsOf([0], [1], [0, 1]) },
    { link: 'sigmoid', outputs: 2, targets: Uint8Array.of(1, 0, 0, 1, 1, 1), logits, uncalibrated: logits },
  );

  it('has figures of each label and no confusion matrix', () => {
    expect(evaluation.confusion).toBeUndefined();
    expect(evaluation.classes).toEqual([
      { label: 'x', precision: 0.5, recall: 0.5, f1: 0.5, support: 2 },
      { label: 'y', precision: 1, recall: 0.5, f1: 2 / 3, support: 2 },
    ]);
  });

  it('scores a mistake by its surest wrong label or, if it has none, by the label most surely left out', () => {
    expect(evaluation.mistakes).toEqual([
      { text: 'row 2', expected: ['x', 'y'], predicted: [], score: expect.closeTo(0.95, 6) },
      { text: 'row 1', expected: ['y'], predicted: ['x', 'y'], score: expect.closeTo(0.7, 6) },
    ]);
  });

  it('counts every yes or no as one decision', () => {
    const decisions = evaluation.calibration?.bins.reduce((sum, { rows }) => sum + rows, 0);
    expect(decisions).toBe(6);
  });
});

describe('calibrationBins', () => {
  it('puts a confidence of 1 into the last part and leaves empty parts out', () => {
    const bins = calibrationBins([
      { confidence: 1, right: true },
      { confidence: 0.96, right: false },
      { confidence: 0.05, right: false },
    ]);
    expect(bins).toEqual([
      { confidence: 0.05, accuracy: 0, rows: 1 },
      { confidence: 0.98, accuracy: 0.5, rows: 2 },
    ]);
  });
});
