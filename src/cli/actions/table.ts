/** Rows of cells as lines, each column as wide as its widest cell; the last row needs none. */
export function alignedLines(rows: readonly (readonly string[])[]): readonly string[] {
  const columns = Math.max(0, ...rows.map(({ length }) => length));
  const widths = Array.from({ length: columns }, (_, at) =>
    Math.max(...rows.map((row) => row[at]?.length ?? 0)),
  );
  return rows.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

/** 12345 → "12,345" */
export function grouped(count: number): string {
  return count.toLocaleString('en-US');
}
