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
