import { type JsonShape, shaped } from '../system/index.js';

/** A metadata entry of a file, parsed as JSON; undefined if it is missing or doesn't fit the shape. */
export function parseEntry<T>(shape: JsonShape<T>, entry: string | undefined): T | undefined {
  try {
    return shaped(shape, JSON.parse(entry ?? ''));
  } catch {
    return undefined;
  }
}

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

/** The number of outputs rounded up to whole vectors of four, as the kernels need it. */
export const paddedOutputs = (outputs: number): number => Math.ceil(outputs / 4) * 4;

/**
 * Copies rows into wider ones. A loop: `set(subarray())` costs an allocation, which for a few bytes takes
 * longer than the copy.
 * @param rows [n, width]. @param padded [n, paddedWidth], 0 at first.
 */
export function padRows(rows: Int8Array, width: number, padded: Int8Array, paddedWidth: number): void {
  if (width === paddedWidth) {
    padded.set(rows);
    return;
  }
  for (let from = 0, to = 0; from < rows.length; to += paddedWidth) {
    for (let column = 0; column < width; column += 1, from += 1) padded[to + column] = rows[from] ?? 0;
  }
}
