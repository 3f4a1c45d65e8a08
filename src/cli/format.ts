/** How results are laid out as text. */

/** 12345 → "12,345" */
export function grouped(count: number): string {
  return count.toLocaleString('en-US');
}

/** Tabs and line breaks as spaces, so that a text stays in its line and column. */
export function onOneLine(text: string): string {
  return text.replace(/[\t\n\r\u2028\u2029]+/g, ' ');
}

/** Rows of cells as lines with aligned columns. @param numbers 'right' aligns all columns but the first on the right */
export function alignedLines(
  rows: readonly (readonly string[])[],
  numbers: 'left' | 'right' = 'left',
): readonly string[] {
  const columns = Math.max(0, ...rows.map(({ length }) => length));
  const widths = Array.from({ length: columns }, (_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const aligned = (cell: string, at: number) =>
    at > 0 && numbers === 'right' ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0);
  return rows.map((row) => row.map(aligned).join('  ').trimEnd());
}
