/** The smallest normal float32; numbers with a smaller scale are rounded to 0. */
const SMALLEST_SCALE = 2 ** -126;

/**
 * Rounds numbers to integers with one scale for all: number ≈ integer · scale, the largest becoming ±`most`.
 * @param integers the output, as many as there are numbers.
 * @returns the scale, a float32; 0 if all numbers are 0 or nearly so, and Infinity or NaN if one of them
 *   isn't finite.
 */
export function roundRow(numbers: Float32Array, most: number, integers: Int8Array | Int16Array): number {
  let largest = 0;
  for (let at = 0; at < numbers.length; at += 1) largest = Math.max(largest, Math.abs(numbers[at] ?? 0));
  const scale = Math.fround(largest / most);
  if (scale < SMALLEST_SCALE) {
    integers.fill(0);
    return 0;
  }
  for (let at = 0; at < numbers.length; at += 1) integers[at] = Math.round((numbers[at] ?? 0) / scale);
  return scale;
}
