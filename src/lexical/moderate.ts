/** Far above any weight that training finds, and so small that sums of them stay far within float32. */
const LARGEST = 1e6;

/** Whether all stored numbers are such that sums of them are numbers too. */
export function areModerate(values: Float32Array): boolean {
  return values.every((value) => value >= -LARGEST && value <= LARGEST);
}
