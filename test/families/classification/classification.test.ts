import { describe, expect, it } from 'vitest';
import { classificationScores } from '../../../src/families/classification/evaluation.js';
import { classificationResult, predictedLabels } from '../../../src/families/classification/probabilities.js';
import { lossTargets } from '../../../src/families/classification/targets.js';
import { augmentTexts, papayaTraining, slip } from '../../../src/families/classification/training.js';
import type { CheckpointHead } from '../../../src/families/family.js';
import { Random } from '../../../src/system/numbers.js';

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

describe('the F1 of a model that chooses between two labels', () => {
  const rows = [1, 1, 1, 0, 0, 0, 0].map((id) => ({ text: 'a text', labelIds: [id] }));
  const dataset = { kind: 'binary', labels: ['normal', 'danger'], train: rows, dev: rows, warnings: [] } as const;
  // Of danger: TP 1, FP 1, FN 2. Of normal: TP 3, FP 2, FN 1.
  const [danger, normal] = [2 / 5, 2 / 3];
  const logits = [1, -1, -1, 1, -1, -1, -1];
  const none = Int32Array.of();
  const encoding = { ids: none, typeIds: none, sequenceIds: none, offsets: null, truncated: 0 };
  const scoresOf = (outputs: (logit: number) => number[], head?: CheckpointHead, positive?: string) => {
    const task = papayaTraining.task(dataset, head, { positive });
    return {
      task,
      scores: task.evaluate(logits.map((logit) => [{ encoding, outputs: Float32Array.from(outputs(logit)) }])),
    };
  };

  it.each([
    [undefined, 'danger', danger],
    ['danger', 'danger', danger],
    ['normal', 'normal', normal],
  ])('with %s as the positive label is that of %s', async (positive, label, f1) => {
    const { task, scores } = scoresOf((logit) => [logit], undefined, positive);
    expect(task.positive).toBe(label);
    expect(await scores).toMatchObject({ accuracy: 4 / 7, f1: expect.closeTo(f1, 12) });
  });

  it.each([
    [undefined, 'danger', danger],
    ['normal', 'normal', normal],
  ])(
    'is of the same label where the head of a checkpoint goes on, whatever its order (%s)',
    async (positive, label, f1) => {
      const head = { per: 'text', labels: ['danger', 'normal'], problem: 'single_label_classification' } as const;
      const { task, scores } = scoresOf((logit) => [logit, -logit], head, positive);
      expect(task).toMatchObject({ continuesHead: true, positive: label });
      expect(await scores).toMatchObject({ accuracy: 4 / 7, f1: expect.closeTo(f1, 12) });
    },
  );
});

it('the F1 of several classes is the mean over those that occur in rows or answers', async () => {
  const none = Int32Array.of();
  const encoding = { ids: none, typeIds: none, sequenceIds: none, offsets: null, truncated: 0 };
  const dev = [0, 0, 1].map((id) => ({ text: 'a text', labelIds: [id] }));
  const dataset = { kind: 'multiclass', labels: ['a', 'b', 'c', 'd'], train: dev, dev, warnings: [] } as const;
  const task = papayaTraining.task(dataset);
  const answer = (label: number) => [
    { encoding, outputs: Float32Array.from(dataset.labels, (_, at) => Number(at === label)) },
  ];
  // a: TP 1, FN 1 → ⅔. b: TP 1 → 1. c: FP 1 → 0. d doesn't occur.
  expect(await task.evaluate([0, 2, 1].map(answer))).toMatchObject({ f1: expect.closeTo((2 / 3 + 1 + 0) / 3, 12) });
});

describe('reading logits', () => {
  it('ranks all labels by softmax probability, summing to 1', () => {
    const { labels, scores } = classificationResult(Float32Array.of(0, Math.log(3), 0), ['a', 'b', 'c'], 'softmax');
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
    const { feeds, weight } = lossTargets([{ active: [1] }, { active: [0] }], 2, {
      link: 'softmax',
      labelSmoothing: 0,
    });
    expect(feeds.targets?.data).toEqual(Float32Array.of(0, 0.5, 0.5, 0));
    expect(weight).toBe(2);
  });

  it('turns on every label of a sigmoid row and averages over all logits', () => {
    const { feeds } = lossTargets([{ active: [0, 2] }, { active: [] }], 3, { link: 'sigmoid', labelSmoothing: 0 });
    expect(feeds.targets?.data).toEqual(Float32Array.of(1, 0, 1, 0, 0, 0));
    expect(feeds.target_weights?.data).toEqual(new Float32Array(6).fill(1 / 6));
  });

  it('spreads a share of each softmax row over all labels', () => {
    const { feeds } = lossTargets([{ active: [1] }], 4, { link: 'softmax', labelSmoothing: 0.2 });
    expect(feeds.targets?.data).toEqual(Float32Array.of(0.05, 0.85, 0.05, 0.05));
  });

  it('pulls sigmoid targets towards 0.5', () => {
    const { feeds } = lossTargets([{ active: [1] }], 2, { link: 'sigmoid', labelSmoothing: 0.2 });
    expect(feeds.targets?.data).toEqual(Float32Array.of(0.1, 0.9));
  });

  it('weighs the rows of a label by its class weight', () => {
    const classWeights = [
      { active: 1, inactive: 1 },
      { active: 3, inactive: 1 },
    ];
    const softmax = lossTargets([{ active: [0] }, { active: [1] }], 2, {
      link: 'softmax',
      labelSmoothing: 0,
      classWeights,
    });
    expect(softmax.feeds.targets?.data).toEqual(Float32Array.of(0.25, 0, 0, 0.75));
    expect(softmax.weight).toBe(4);
    const sigmoid = lossTargets([{ active: [0] }, { active: [1] }], 2, {
      link: 'sigmoid',
      labelSmoothing: 0,
      classWeights,
    });
    expect(sigmoid.feeds.target_weights?.data).toEqual(Float32Array.of(0.25, 0.25, 0.25, 0.75));
  });
});

describe('augmentTexts', () => {
  const words = 'one two three four five six seven eight nine ten'.split(' ');
  const rows = Array.from({ length: 400 }, (_, id) => ({
    text: `Well, ${words.join(' ')}!`,
    labelIds: [id % 3],
  }));
  const copies = augmentTexts(rows, 3);
  const shareOf = (isEdited: (text: string) => boolean) =>
    copies.filter(({ text }) => isEdited(text)).length / copies.length;

  it('gives an edited copy of nearly every row, with its label', () => {
    expect(copies.length).toBeGreaterThan(380);
    expect(copies.map(({ text }) => text)).not.toContain(rows[0]?.text);
    const counts = [0, 1, 2].map((id) => copies.filter(({ labelIds }) => labelIds[0] === id).length);
    expect(Math.min(...counts)).toBeGreaterThan(120);
  });

  // Each of the four edits is one of one or two: 3 copies in 8 have it.
  it('edits in four ways, alike often', () => {
    const posted = /[@#]|https:|\p{Extended_Pictographic}/u;
    const known = new Set(['Well', ...words]);
    const mistyped = (text: string) =>
      text.split(' ').some((word) => !known.has(word.replaceAll(/\P{L}/gu, '')) && !posted.test(word));
    const plain = (text: string) => !/[,!]/u.test(text);
    for (const share of [shareOf((text) => posted.test(text)), shareOf(plain)]) {
      expect(share).toBeGreaterThan(0.3);
      expect(share).toBeLessThan(0.45);
    }
    expect(shareOf(mistyped)).toBeGreaterThan(0.2);
    expect(shareOf(mistyped)).toBeLessThan(0.45);
  });

  it('never drops the only words of a short text', () => {
    const short = Array.from({ length: 100 }, () => ({ text: 'too short', labelIds: [0] }));
    for (const { text } of augmentTexts(short, 1)) expect(text).toMatch(/t\S+ .*s\S+t/u);
  });

  it('makes the same copies for the same seed', () => {
    expect(augmentTexts(rows, 3)).toEqual(copies);
    expect(augmentTexts(rows, 4)).not.toEqual(copies);
  });
});

describe('a slip', () => {
  it('is one letter more or less, another letter, or two that changed places, and neither the first nor the last', () => {
    const random = Random.fromSeed(1);
    const slips = new Set(Array.from({ length: 3000 }, () => slip('cart', random)));
    // swapped; without a, r; a, r doubled; a or r replaced by another of the word's letters
    const all = ['crat', 'crt', 'cat', 'caart', 'carrt', 'ccrt', 'crrt', 'ctrt', 'cact', 'caat', 'catt', 'cart'];
    expect([...slips].sort()).toEqual(all.sort());
  });
});
