/** The largest element of a vector becomes this code, the others in proportion. */
const LARGEST_CODE = 127;
const LARGEST_INT16 = 32_767;
/** What a sum of products may reach in 32 bits. */
const LARGEST_SUM = 2 ** 31 - 1;

/** Writes a vector as bytes; element ≈ code · scale. @returns the scale. */
export function quantizeVector(vector: Float32Array, codes: Int8Array): number {
  const largest = largestOf(vector);
  if (largest === 0) return 0;
  const factor = LARGEST_CODE / largest;
  for (let i = 0; i < vector.length; i += 1) codes[i] = Math.round((vector[i] ?? 0) * factor);
  return largest / LARGEST_CODE;
}

/**
 * Writes a query as 16-bit integers, as large as its dot product with bytes allows without overflow: the rounding of a
 * query is nothing beside that of the codes. @returns the scale.
 */
export function quantizeQuery(query: Float32Array, integers: Int16Array): number {
  const largest = largestOf(query);
  if (largest === 0) {
    integers.fill(0);
    return 0;
  }
  const most = Math.min(LARGEST_INT16, Math.floor(LARGEST_SUM / (LARGEST_CODE * integers.length)));
  const factor = most / largest;
  for (let i = 0; i < query.length; i += 1) integers[i] = Math.round((query[i] ?? 0) * factor);
  return largest / most;
}

function largestOf(vector: Float32Array): number {
  let largest = 0;
  for (let i = 0; i < vector.length; i += 1) largest = Math.max(largest, Math.abs(vector[i] ?? 0));
  return largest;
}
