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
