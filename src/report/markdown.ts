/** Text that Markdown shows as it is, on one line: its marks, and those of HTML, stand behind a backslash. */
export const escapeMarkdown = (text: string): string =>
  text.replace(/\s+/g, ' ').replace(/[\\`*_[\]<>|~#&!$]/g, (mark) => `\\${mark}`);

/** @param rows their cells, escaped already. */
export function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n');
}
