import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Example, type Split, trainOnFewRows } from '../../../src/families/classification/few-rows.js';
import { foldsOf } from '../../../src/families/folds.js';
import { accuracyInterval } from '../../../src/families/index.js';
import { onnxExecutor } from '../../../src/graph/index.js';
import { Random } from '../../../src/system/numbers.js';

const executor = onnxExecutor({ threads: 1 });
const options = {
  ...{ executor, lowercase: true, language: 'english', balanced: false, seed: 1 },
  signal: new AbortController().signal,
};
const WIDTH = 6;

/** Rows of each label around a point of its own. */
function someRows(labels: number, rows: number, seed = 3): Example[] {
  const random = Random.fromSeed(seed);
  const centres = Array.from({ length: labels }, () => Array.from({ length: WIDTH }, () => 3 * random.normal()));
  return Array.from({ length: rows }, (_, row) => {
    const label = row % labels;
    const state = Float32Array.from(centres[label] ?? [], (centre) => centre + random.normal());
    return { text: `text ${row} of ${['a', 'b', 'c'][label]}`, labelIds: [label], state };
  });
}

/** Rows are judged by a model of the others; names are not used. */
function halves(rows: readonly Example[]): readonly Split[] {
  const [first, second] = [rows.slice(0, rows.length / 2), rows.slice(rows.length / 2)];
  return [
    { train: first, names: [], judged: second },
    { train: second, names: [], judged: first },
  ];
}

const unit = (vector: ArrayLike<number>): number[] => {
  const values = Array.from(vector);
  const length = Math.hypot(...values);
  return values.map((each) => each / length);
};

/** Logistic regression as scikit-learn states it, Σ loss + ½|w|²/C, by gradient descent in 64 bits. One output. */
function referenceLayer(rows: readonly Example[], strength: number) {
  const weight = new Array<number>(WIDTH).fill(0);
  let bias = 0;
  for (let step = 0; step < 20_000; step += 1) {
    const slopes = weight.map((each) => each / strength);
    let biasSlope = 0;
    for (const { state, labelIds } of rows) {
      const vector = unit(state);
      const logit = vector.reduce((sum, each, at) => sum + each * (weight[at] ?? 0), bias);
      const error = 1 / (1 + Math.exp(-logit)) - (labelIds.includes(1) ? 1 : 0);
      for (const [at, each] of vector.entries()) slopes[at] = (slopes[at] ?? 0) + error * each;
      biasSlope += error;
    }
    for (const [at, slope] of slopes.entries()) weight[at] = (weight[at] ?? 0) - 0.02 * slope;
    bias -= 0.02 * biasSlope;
  }
  return { weight, bias };
}

describe('the layer of a model from few rows', () => {
  it("is scikit-learn's logistic regression on states of unit length, for states as they are", async () => {
    const rows = someRows(2, 24);
    const choices = { inverseRegularization: 3, labelNames: 0 };
    const data = { train: rows, names: [], splits: halves(rows) };
    const { layer, judged } = await trainOnFewRows({ kind: 'binary', labels: ['a', 'b'] }, data, {
      ...options,
      choices,
    });
    const expected = referenceLayer(rows, 3);
    const length = rows.reduce((sum, { state }) => sum + Math.hypot(...state), 0) / rows.length;
    for (const [at, each] of expected.weight.entries()) expect((layer.weight[at] ?? 0) * length).toBeCloseTo(each, 2);
    expect(layer.bias[0]).toBeCloseTo(expected.bias, 2);
    expect(judged.rows).toHaveLength(rows.length);
  });

  it('is chosen among several by rows that it was not trained on', async () => {
    const rows = someRows(3, 36);
    const data = { train: rows, names: someRows(3, 3), splits: halves(rows) };
    const { choices, judged } = await trainOnFewRows({ kind: 'multiclass', labels: ['a', 'b', 'c'] }, data, options);
    expect([0.3, 1, 3]).toContain(choices.inverseRegularization);
    expect([0, 1, 4]).toContain(choices.labelNames);
    expect(judged.encoder).toHaveLength(36 * 3);
  });

  it('says of a judged row what it says whatever label the row has', async () => {
    const rows = someRows(2, 20);
    const [train, judged] = [rows.slice(0, 10), rows.slice(10)];
    const choices = { inverseRegularization: 1, labelNames: 0 };
    const judge = async (answered: readonly Example[]) => {
      const splits = [{ train, names: [], judged: answered }];
      const data = { train: rows, names: [], splits };
      return (await trainOnFewRows({ kind: 'binary', labels: ['a', 'b'] }, data, { ...options, choices })).judged;
    };
    const plain = await judge(judged);
    const flipped = await judge(judged.map((row) => ({ ...row, labelIds: row.labelIds.map((id) => 1 - id) })));
    expect(flipped.encoder).toEqual(plain.encoder);
    expect(flipped.expert).toEqual(plain.expert);
  });

  it('learns where all states are the same', async () => {
    const rows = someRows(2, 12).map((row) => ({ ...row, state: new Float32Array(WIDTH) }));
    const data = { train: rows, names: [], splits: halves(rows) };
    const { layer, judged } = await trainOnFewRows({ kind: 'binary', labels: ['a', 'b'] }, data, options);
    expect([...layer.weight, ...layer.bias, ...judged.encoder].every(Number.isFinite)).toBe(true);
  });
});

describe('folds', () => {
  const labelled = fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 2, maxLength: 60 });

  it('judge each row once, but train on the only row of a label in all of them', () => {
    fc.assert(
      fc.property(labelled, fc.integer({ min: 1, max: 9 }), (rows, seed) => {
        const folds = foldsOf(rows, seed);
        const rowsOf = (row: number) => rows.filter((label) => label === rows[row]).length;
        const judged = folds.flatMap((fold) => fold.judged);
        expect([...judged].sort((a, b) => a - b)).toEqual([...rows.keys()].filter((row) => rowsOf(row) > 1));
        for (const { train, judged: held } of folds) {
          expect([...train, ...held].sort((a, b) => a - b)).toEqual([...rows.keys()]);
        }
      }),
    );
  });

  it('have as many rows of each label, up to one', () => {
    fc.assert(
      fc.property(labelled, fc.integer({ min: 2, max: 8 }), (rows, count) => {
        const folds = foldsOf(rows, 1, count);
        for (let label = 0; label < 5; label += 1) {
          const counts = folds.map(({ judged }) => judged.filter((row) => rows[row] === label).length);
          expect(Math.max(0, ...counts) - Math.min(...counts, Number.MAX_SAFE_INTEGER)).toBeLessThanOrEqual(1);
        }
      }),
    );
  });
});

describe('accuracyInterval', () => {
  it.each([
    // Worked by hand from Wilson's formula with z = 1.96.
    [0.8, 10, 0.4902, 0.9433],
    [1, 16, 0.8064, 1],
    [0, 5, 0, 0.4345],
  ])('of %d on %d rows', (share, rows, low, high) => {
    const interval = accuracyInterval(share, rows);
    expect(interval.low).toBeCloseTo(low, 3);
    expect(interval.high).toBeCloseTo(high, 3);
  });

  it('is everything if no row was judged', () => {
    expect(accuracyInterval(0, 0)).toEqual({ low: 0, high: 1 });
  });
});
