/** What is wrong with a text of a dataset, as the parts of a problem; undefined if nothing is. */
export function findTextProblem(text: string): { found: string; expected: string } | undefined {
  if (text.trim() === '') return { found: 'found an empty text', expected: 'a text' };
  if (/\p{Surrogate}/u.test(text)) return { found: 'found half a surrogate pair', expected: 'whole characters' };
  return undefined;
}

/**
 * A text without differences in case and spacing, which most tokenizers drop too, so that equal texts match.
 */
export function foldText(text: string): string {
  return text.trim().replace(/\s+/g, ' ').toLowerCase();
}
