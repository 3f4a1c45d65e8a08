import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CoOccurrence } from '../../models/recipes/backbones/embeddings/co-occurrence.js';
import { MatrixProduct } from '../../models/recipes/backbones/embeddings/matrix-product.js';
import { normalMatrix, orthonormal, randomizedSvd } from '../../models/recipes/backbones/embeddings/randomized-svd.js';
import { wordEmbeddings } from '../../models/recipes/backbones/embeddings/word-embeddings.js';
import { onnxExecutor } from '../../src/graph/index.js';
import { Random } from '../../src/system/numbers.js';

let product: MatrixProduct;
beforeAll(async () => {
  product = await MatrixProduct.create(onnxExecutor());
});
afterAll(() => product.release());

const svdOptions = () => ({ oversampling: 5, powerIterations: 3, random: Random.fromSeed(3) });

describe('counts of tokens near each other', () => {
  it('counts each pair both ways, by the weight of its distance', () => {
    const counts = new CoOccurrence(3, [1, 0.5]);
    counts.add(Int32Array.of(0, 1, 2));
    // 0-1 and 1-2 count 1, 0-2 counts ½. Rows sum to 1½, 2, 1½; with exponent 1, contexts share 5 likewise.
    const { values } = counts.toPositiveInformation(1);
    const expected = [
      [0, Math.log((1 / 1.5) * (5 / 2)), Math.log((0.5 / 1.5) * (5 / 1.5))],
      [Math.log((1 / 2) * (5 / 1.5)), 0, Math.log((1 / 2) * (5 / 1.5))],
      [Math.log((0.5 / 1.5) * (5 / 1.5)), Math.log((1 / 1.5) * (5 / 2)), 0],
    ].flat();
    for (const [at, value] of expected.entries()) expect(values[at]).toBeCloseTo(value, 5);
  });

  it('gives no information to pairs rarer than chance, nor to tokens that never occurred', () => {
    const counts = new CoOccurrence(4, [1]);
    for (let times = 0; times < 9; times += 1) counts.add(Int32Array.of(0, 0));
    counts.add(Int32Array.of(0, 1));
    counts.add(Int32Array.of(1, 1));
    const { values } = counts.toPositiveInformation(0.75);
    expect(values[1]).toBe(0);
    expect(values[5]).toBeGreaterThan(0);
    expect([...values.slice(12)]).toEqual([0, 0, 0, 0]);
  });
});

describe('randomised singular value decomposition', () => {
  it('finds the vectors and values of a hand-made matrix', async () => {
    // 3·u₁v₁ᵀ + 1·u₂v₂ᵀ with u₁ = (2, 1, 2)/3, u₂ = (1, 2, −2)/3, v₁ = (3, 4)/5, v₂ = (4, −3)/5
    const u = [
      [2 / 3, 1 / 3, 2 / 3],
      [1 / 3, 2 / 3, -2 / 3],
    ];
    const v = [
      [3 / 5, 4 / 5],
      [4 / 5, -3 / 5],
    ];
    const entry = (row: number, column: number) =>
      3 * (u[0]?.[row] ?? 0) * (v[0]?.[column] ?? 0) + (u[1]?.[row] ?? 0) * (v[1]?.[column] ?? 0);
    const values = Float32Array.from({ length: 6 }, (_, at) => entry(Math.floor(at / 2), at % 2));
    const svd = await randomizedSvd({ rows: 3, columns: 2, values }, product, { rank: 2, ...svdOptions() });
    expect(svd.values[0]).toBeCloseTo(3, 4);
    expect(svd.values[1]).toBeCloseTo(1, 4);
    for (const [vector, expected] of u.entries()) {
      const found = [0, 1, 2].map((row) => svd.vectors.values[2 * row + vector] ?? 0);
      const sign = Math.sign((found[0] ?? 0) * (expected[0] ?? 0));
      for (const row of [0, 1, 2]) expect(sign * (found[row] ?? 0)).toBeCloseTo(expected[row] ?? 0, 4);
    }
  });

  it('keeps the largest of many directions', async () => {
    // A diagonal matrix: its singular values are its entries, its vectors the axes.
    const size = 60;
    const values = new Float32Array(size * size);
    for (let at = 0; at < size; at += 1) values[at * size + at] = 0.9 ** at;
    const svd = await randomizedSvd({ rows: size, columns: size, values }, product, {
      rank: 10,
      ...svdOptions(),
    });
    expect(svd.values).toHaveLength(10);
    for (const [at, value] of svd.values.entries()) expect(value).toBeCloseTo(0.9 ** at, 2);
  });

  it('makes columns orthonormal without leaving their span', async () => {
    const x = normalMatrix(40, 6, Random.fromSeed(1));
    const q = await orthonormal(x, product);
    const gram = await product.ofTransposed(q, q);
    for (const [at, value] of gram.values.entries()) expect(value).toBeCloseTo(at % 7 === 0 ? 1 : 0, 4);
    const back = await product.of(q, await product.ofTransposed(q, x));
    for (const [at, value] of back.values.entries()) expect(value).toBeCloseTo(x.values[at] ?? 0, 4);
  });
});

describe('word embeddings', () => {
  it('brings tokens of similar contexts together, all with one length', async () => {
    const counts = new CoOccurrence(8, [1]);
    // 0 and 1 stand beside 2 and 3; 4 and 5 beside 6 and 7.
    for (const word of [0, 1]) for (const context of [2, 3]) counts.add(Int32Array.of(word, context));
    for (const word of [4, 5]) for (const context of [6, 7]) counts.add(Int32Array.of(word, context));
    const { values } = await wordEmbeddings(counts.toPositiveInformation(0.75), 4, product);
    const row = (word: number) => [...values.slice(4 * word, 4 * word + 4)];
    const dot = (a: number, b: number) => row(a).reduce((sum, x, at) => sum + x * (row(b)[at] ?? 0), 0);
    for (let word = 0; word < 8; word += 1) expect(dot(word, word)).toBeCloseTo(4 * 0.05 ** 2, 5);
    expect(dot(0, 1) / dot(0, 0)).toBeCloseTo(1, 3);
    expect(dot(0, 4) / dot(0, 0)).toBeCloseTo(0, 3);
  });
});
