import { Random } from '../../../../src/system/index.js';
import { embeddingSettings, SEED } from '../settings.js';
import type { Matrix, MatrixProduct } from './matrix-product.js';
import { normalMatrix, orthonormal, randomizedSvd } from './randomized-svd.js';

/**
 * Vectors U·√S of the tokens' mutual information, all scaled to one length, and rotated at random so that the
 * first directions do not all fall to one attention head.
 * @param information [vocabulary, vocabulary].
 * @returns [vocabulary, width]; rows of tokens without information are random.
 */
export async function wordEmbeddings(information: Matrix, width: number, product: MatrixProduct): Promise<Matrix> {
  const { oversampling, powerIterations, deviation } = embeddingSettings;
  const random = Random.fromSeed(SEED, 1);
  const options = { rank: width, oversampling, powerIterations, random };
  const { vectors, values } = await randomizedSvd(information, product, options);
  const roots = values.map(Math.sqrt);
  const weighted = vectors.values.map((entry, at) => entry * (roots[at % width] ?? 0));
  const rotation = await orthonormal(normalMatrix(width, width, random), product);
  const embeddings = await product.of({ ...vectors, values: weighted }, rotation);
  for (let row = 0; row < embeddings.rows; row += 1) {
    normalize(embeddings.values.subarray(row * width, (row + 1) * width), deviation, random);
  }
  return embeddings;
}

/** Scales a row to the length of a row with entries of this deviation; a row of zeros is drawn anew. */
function normalize(row: Float32Array, deviation: number, random: Random): void {
  if (row.every((value) => value === 0)) for (const at of row.keys()) row[at] = random.normal();
  const scale = (deviation * Math.sqrt(row.length)) / Math.hypot(...row);
  for (const [at, value] of row.entries()) row[at] = value * scale;
}
