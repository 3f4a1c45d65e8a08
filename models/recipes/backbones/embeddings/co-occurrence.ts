import type { Matrix } from './matrix-product.js';

/**
 * How often each pair of tokens occurs near each other. One dense matrix, 1 GB for 16,000 tokens: counting
 * takes a few seconds, and the rest is matrix products.
 */
export class CoOccurrence {
  readonly #counts: Float32Array;

  /** @param distanceWeights weights of neighbours at distance 1, 2, …. */
  constructor(
    private readonly vocabularySize: number,
    private readonly distanceWeights: readonly number[],
  ) {
    this.#counts = new Float32Array(vocabularySize ** 2);
  }

  /** Counts the pairs of one passage, in both directions. @param ids without special tokens. */
  add(ids: Int32Array): void {
    const counts = this.#counts;
    const size = this.vocabularySize;
    for (const [before, weight] of this.distanceWeights.entries()) {
      for (let at = before + 1; at < ids.length; at += 1) {
        const left = ids[at - before - 1] ?? 0;
        const right = ids[at] ?? 0;
        counts[left * size + right] = (counts[left * size + right] ?? 0) + weight;
        counts[right * size + left] = (counts[right * size + left] ?? 0) + weight;
      }
    }
  }

  /**
   * Turns the counts, in place, into positive pointwise mutual information: max(0, ln(p(c | w) / p(c))), with
   * the contexts' p(c) ∝ countᵉ for the exponent e (Levy, Goldberg & Dagan 2015, eq. 3). Nothing can be
   * counted afterwards.
   * @returns [vocabulary, vocabulary]; rows of tokens that never occurred are 0.
   */
  toPositiveInformation(contextExponent: number): Matrix {
    const size = this.vocabularySize;
    const values = this.#counts;
    const totals = rowSums(values, size);
    const smoothed = totals.map((total) => total ** contextExponent);
    const sum = smoothed.reduce((total, each) => total + each, 0);
    for (let word = 0; word < size; word += 1) {
      const total = totals[word] ?? 0;
      for (let context = 0; context < size; context += 1) {
        const count = values[word * size + context] ?? 0;
        if (count === 0) continue;
        const ratio = (count / total) * (sum / (smoothed[context] ?? 0));
        values[word * size + context] = Math.max(0, Math.log(ratio));
      }
    }
    return { rows: size, columns: size, values };
  }
}

function rowSums(values: Float32Array, size: number): Float64Array {
  return Float64Array.from({ length: size }, (_, row) => {
    let sum = 0;
    for (let column = 0; column < size; column += 1) sum += values[row * size + column] ?? 0;
    return sum;
  });
}
