/** Far above any weight that training finds, and so small that sums of them stay far within float32. */
const LARGEST = 1e6;

/**
 * Whether all stored numbers are such that sums of them are numbers too. Half a million may be looked at when a model is
 * loaded, so without a call for each.
 */
export function areModerate(values: Float32Array): boolean {
  for (let at = 0; at < values.length; at += 1) {
    const value = values[at] ?? 0;
    if (!(value >= -LARGEST && value <= LARGEST)) return false;
  }
  return true;
}
