import { EigenvalueDecomposition, Matrix as SmallMatrix } from 'ml-matrix';
import type { Random } from '../../../../src/system/index.js';
import type { Matrix, MatrixProduct } from './matrix-product.js';

export interface SvdOptions {
  /** Number of singular vectors; at most the number of rows and of columns. */
  readonly rank: number;
  readonly oversampling: number;
  readonly powerIterations: number;
  readonly random: Random;
}

export interface LeftSingularVectors {
  /** [rows, rank], one vector per column. */
  readonly vectors: Matrix;
  /** The largest first. */
  readonly values: readonly number[];
}

/**
 * The first left singular vectors and values of a large matrix, by random projection with power iterations
 * (Halko, Martinsson & Tropp 2011, algorithms 4.4 and 5.1).
 */
export async function randomizedSvd(
  matrix: Matrix,
  product: MatrixProduct,
  { rank, oversampling, powerIterations, random }: SvdOptions,
): Promise<LeftSingularVectors> {
  const width = Math.min(rank + oversampling, matrix.rows, matrix.columns);
  const probe = normalMatrix(matrix.columns, width, random);
  let range = await orthonormal(await product.of(matrix, probe), product);
  for (let iteration = 0; iteration < powerIterations; iteration += 1) {
    const corange = await orthonormal(await product.ofTransposed(matrix, range), product);
    range = await orthonormal(await product.of(matrix, corange), product);
  }
  // Singular vectors of rangeᵀ·matrix, which is small enough to be decomposed by its Gram matrix.
  const projected = await product.ofTransposed(matrix, range);
  const { values, vectors } = decompose(await product.ofTransposed(projected, projected));
  return {
    vectors: await product.of(range, columnsOf(vectors, rank)),
    values: values.slice(0, rank).map((value) => Math.sqrt(Math.max(0, value))),
  };
}

/** Standard normal numbers. */
export function normalMatrix(rows: number, columns: number, random: Random): Matrix {
  return { rows, columns, values: Float32Array.from({ length: rows * columns }, () => random.normal()) };
}

/** Directions whose eigenvalue is a smaller share of the largest are noise of float32. */
const NEGLIGIBLE = 1e-7;

/** An orthonormal basis of the columns: X·V·Λ^(−½), where XᵀX = V·Λ·Vᵀ. Columns beyond the rank are 0. */
export async function orthonormal(x: Matrix, product: MatrixProduct): Promise<Matrix> {
  const { values, vectors } = decompose(await product.ofTransposed(x, x));
  const least = NEGLIGIBLE * (values[0] ?? 0);
  const scales = values.map((value) => (value > least ? 1 / Math.sqrt(value) : 0));
  const scaled = vectors.map((vector, at) => vector.map((entry) => entry * (scales[at] ?? 0)));
  return product.of(x, columnsOf(scaled, x.columns));
}

interface Eigen {
  /** The largest first. */
  readonly values: readonly number[];
  readonly vectors: readonly (readonly number[])[];
}

/** Eigenvalues and eigenvectors of a symmetric matrix. */
function decompose({ rows, values }: Matrix): Eigen {
  const matrix = SmallMatrix.from1DArray(rows, rows, Array.from(values));
  const { realEigenvalues, eigenvectorMatrix } = new EigenvalueDecomposition(matrix, {
    assumeSymmetric: true,
  });
  const order = realEigenvalues.map((_, at) => at);
  order.sort((a, b) => (realEigenvalues[b] ?? 0) - (realEigenvalues[a] ?? 0));
  return {
    values: order.map((at) => realEigenvalues[at] ?? 0),
    vectors: order.map((at) => eigenvectorMatrix.getColumn(at)),
  };
}

/** The first vectors as the columns of a matrix. */
function columnsOf(vectors: readonly (readonly number[])[], columns: number): Matrix {
  const rows = vectors.length;
  const values = new Float32Array(rows * columns);
  for (let column = 0; column < columns; column += 1) {
    for (let row = 0; row < rows; row += 1) values[row * columns + column] = vectors[column]?.[row] ?? 0;
  }
  return { rows, columns, values };
}
