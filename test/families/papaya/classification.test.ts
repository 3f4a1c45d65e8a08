import { describe, expect, it } from 'vitest';
import { augmentTexts } from '../../../src/families/papaya/augment-texts.js';
import {
  classificationResult,
  predictedLabels,
} from '../../../src/families/papaya/classification-decoder.js';
import { lossTargets } from '../../../src/families/papaya/classification-loss.js';
import { classificationScores } from '../../../src/families/papaya/classification-scores.js';

describe('classificationScores, by hand', () => {
  it('counts accuracy and the macro-F1 of three classes', () => {
    // Class 0: TP 1, FP 1, FN 1 → ½. Class 1: TP 1, FP 1, FN 0 → ⅔. Class 2: TP 0, FP 0, FN 1 → 0.
    const actual = [[0], [0], [1], [2]];
    const predicted = [[0], [1], [1], [0]];
    const { accuracy, f1 } = classificationScores(predicted, actual, [0, 1, 2]);
    expect(accuracy).toBe(0.5);
    expect(f1).toBeCloseTo((1 / 2 + 2 / 3 + 0) / 3, 12);
  });

  it('takes the F1 of the positive label alone if only that is asked for', () => {
    // TP 2, FP 1, FN 1: precision ⅔, recall ⅔.
    const actual = [[1], [1], [1], [0], [0]];
    const predicted = [[1], [1], [0], [1], [0]];
    expect(classificationScores(predicted, actual, [1]).f1).toBeCloseTo(2 / 3, 12);
  });

  it('counts a multilabel row as right if it has exactly the true labels, in any order, even none', () => {
    const actual = [[0, 2], [], [1]];
    const predicted = [[2, 0], [], [1, 2]];
    expect(classificationScores(predicted, actual, [0, 1, 2]).accuracy).toBeCloseTo(2 / 3, 12);
  });
});

describe('reading logits', () => {
  it('ranks all labels by softmax probability, summing to 1', () => {
    const { labels, scores } = classificationResult(
      Float32Array.of(0, Math.log(3), 0),
      ['a', 'b', 'c'],
      'softmax',
    );
    expect(labels).toEqual(['b', 'a', 'c']);
    expect(scores[0]).toBeCloseTo(0.6, 6);
    expect(scores[1]).toBeCloseTo(0.2, 6);
  });

  it('reads the one logit of a binary model as its second label, and returns both', () => {
    const { labels, scores } = classificationResult(Float32Array.of(-Math.log(4)), ['no', 'yes'], 'sigmoid');
    expect(labels).toEqual(['no', 'yes']);
    expect(scores[0]).toBeCloseTo(0.8, 6);
    expect(predictedLabels(Float32Array.of(0.1), { link: 'sigmoid', labels: 2 })).toEqual([1]);
    expect(predictedLabels(Float32Array.of(-0.1), { link: 'sigmoid', labels: 2 })).toEqual([0]);
  });

  it('predicts every label of a multilabel model above 0.5, or none', () => {
    expect(predictedLabels(Float32Array.of(1, -1, 2), { link: 'sigmoid', labels: 3 })).toEqual([0, 2]);
    expect(predictedLabels(Float32Array.of(-1, -1, -2), { link: 'sigmoid', labels: 3 })).toEqual([]);
  });

  it('stays finite for huge logits', () => {
    const { scores } = classificationResult(Float32Array.of(1e4, -1e4), ['a', 'b'], 'softmax');
    expect(scores).toEqual([1, 0]);
  });
});

describe('lossTargets', () => {
  it('shares a softmax batch among its rows, so that the loss is their mean', () => {
    const { feeds, weight } = lossTargets([[1], [0]], 2, { link: 'softmax', labelSmoothing: 0 });
    expect(feeds.targets?.data).toEqual(Float32Array.of(0, 0.5, 0.5, 0));
    expect(weight).toBe(2);
  });

  it('turns on every label of a sigmoid row and averages over all logits', () => {
    const { feeds } = lossTargets([[0, 2], []], 3, { link: 'sigmoid', labelSmoothing: 0 });
    expect(feeds.targets?.data).toEqual(Float32Array.of(1, 0, 1, 0, 0, 0));
    expect(feeds.target_weights?.data).toEqual(new Float32Array(6).fill(1 / 6));
  });

  it('spreads a share of each softmax row over all labels', () => {
    const { feeds } = lossTargets([[1]], 4, { link: 'softmax', labelSmoothing: 0.2 });
    expect(feeds.targets?.data).toEqual(Float32Array.of(0.05, 0.85, 0.05, 0.05));
  });

  it('pulls sigmoid targets towards 0.5', () => {
    const { feeds } = lossTargets([[1]], 2, { link: 'sigmoid', labelSmoothing: 0.2 });
    expect(feeds.targets?.data).toEqual(Float32Array.of(0.1, 0.9));
  });

  it('weighs the rows of a label by its class weight', () => {
    const classWeights = [
      { active: 1, inactive: 1 },
      { active: 3, inactive: 1 },
    ];
    const softmax = lossTargets([[0], [1]], 2, { link: 'softmax', labelSmoothing: 0, classWeights });
    expect(softmax.feeds.targets?.data).toEqual(Float32Array.of(0.25, 0, 0, 0.75));
    expect(softmax.weight).toBe(4);
    const sigmoid = lossTargets([[0], [1]], 2, { link: 'sigmoid', labelSmoothing: 0, classWeights });
    expect(sigmoid.feeds.target_weights?.data).toEqual(Float32Array.of(0.25, 0.25, 0.25, 0.75));
  });
});

describe('augmentTexts', () => {
  const rows = [
    { text: 'one two three four five six seven eight nine ten', labelIds: [1] },
    { text: 'too short', labelIds: [0] },
  ];

  it('adds edited copies that keep the label and use only words of the text', () => {
    const copies = augmentTexts(rows, 3);
    expect(copies).toHaveLength(1);
    expect(copies[0]?.labelIds).toEqual([1]);
    expect(copies[0]?.text).not.toBe(rows[0]?.text);
    for (const word of copies[0]?.text.split(' ') ?? []) expect(rows[0]?.text.split(' ')).toContain(word);
  });

  it('makes the same copies for the same seed', () => {
    expect(augmentTexts(rows, 3)).toEqual(augmentTexts(rows, 3));
  });
});
