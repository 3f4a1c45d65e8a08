import { roundRow } from '../round-row.js';

/** The code of a vector's largest element; the others are stored in proportion. */
const LARGEST_CODE = 127;
const LARGEST_INT16 = 32_767;
/** The largest sum of products that fits into 32 bits. */
const LARGEST_SUM = 2 ** 31 - 1;

/** Quantizes a vector to bytes: element ≈ code · scale. @returns the scale */
export function quantizeVector(vector: Float32Array, codes: Int8Array): number {
  return roundRow(vector, LARGEST_CODE, codes);
}

/**
 * Quantizes a query to 16-bit integers, as large as possible without overflow in a dot product with codes, so that the
 * query's rounding error is negligible compared with that of the codes. @returns the scale
 */
export function quantizeQuery(query: Float32Array, integers: Int16Array): number {
  const most = Math.min(LARGEST_INT16, Math.floor(LARGEST_SUM / (LARGEST_CODE * integers.length)));
  return roundRow(query, most, integers);
}

/**
 * The maximum error of the dot product of codes and integers, times both scales, per unit of the vector's scale. Every
 * element is rounded by at most half a scale.
 */
export function largestError(query: Float32Array, queryScale: number): number {
  let sum = 0;
  for (let at = 0; at < query.length; at += 1) sum += Math.abs(query[at] ?? 0);
  const ofIntegers = (queryScale / 2) * LARGEST_CODE * query.length;
  return (sum / 2 + ofIntegers) * (1 + ROUNDING);
}

/** A bound on the relative rounding error of float32 scores. */
const ROUNDING = 2 ** -8;
