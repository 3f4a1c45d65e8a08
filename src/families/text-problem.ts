/** What is wrong with a text of a dataset, in words that a problem is put together from; undefined for a sound one. */
export function findTextProblem(text: string): { found: string; expected: string } | undefined {
  if (text.trim() === '') return { found: 'found an empty text', expected: 'a text' };
  if (/\p{Surrogate}/u.test(text))
    return { found: 'found half a surrogate pair', expected: 'whole characters' };
  return undefined;
}
