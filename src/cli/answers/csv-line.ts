/** A row of CSV (RFC 4180), without a line break. */
export function csvLine(cells: readonly (string | number)[]): string {
  return cells.map(cellOf).join(',');
}

function cellOf(cell: string | number): string {
  const text = String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
