/** A text without the differences that tokenizers drop, upper case and spacing, so that likes are found. */
export function foldText(text: string): string {
  return text.trim().replace(/\s+/g, ' ').toLowerCase();
}
