import { roundRow } from '../round-row.js';

/** The code for a vector's largest element; its other elements are stored in proportion. */
const LARGEST_CODE = 127;
const LARGEST_INT16 = 32_767;
/** The largest sum of products in 32 bits. */
const LARGEST_SUM = 2 ** 31 - 1;

/** Writes a vector as bytes; element ≈ code · scale. @returns the scale. */
export function quantizeVector(vector: Float32Array, codes: Int8Array): number {
  return roundRow(vector, LARGEST_CODE, codes);
}

/**
 * Writes a query as 16-bit integers, as large as they can be without overflow in a dot product with codes, so
 * that the query's rounding error is negligible beside that of the codes. @returns the scale.
 */
export function quantizeQuery(query: Float32Array, integers: Int16Array): number {
  const most = Math.min(LARGEST_INT16, Math.floor(LARGEST_SUM / (LARGEST_CODE * integers.length)));
  return roundRow(query, most, integers);
}

/**
 * How far the dot product of codes and integers, times both scales, can be from that of the vectors, for each
 * unit of the vector's scale. Every element is rounded by half a scale at most.
 * @param query the one whose integers are meant. @param queryScale of these.
 */
export function largestError(query: Float32Array, queryScale: number): number {
  let sum = 0;
  for (let at = 0; at < query.length; at += 1) sum += Math.abs(query[at] ?? 0);
  const ofIntegers = (queryScale / 2) * LARGEST_CODE * query.length;
  return (sum / 2 + ofIntegers) * (1 + ROUNDING);
}

/** Scores are float32, and so are the exact ones: what their rounding adds is far below this share. */
const ROUNDING = 2 ** -8;
