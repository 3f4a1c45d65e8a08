/**
 * Text that Markdown shows as it is, on one line: a backslash escapes the characters of Markdown and HTML.
 */
export const escapeMarkdown = (text: string): string =>
  text.replace(/\s+/g, ' ').replace(/[\\`*_[\]<>|~#&!$]/g, (mark) => `\\${mark}`);

/** @param rows of cells that are escaped already. */
export function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n');
}
