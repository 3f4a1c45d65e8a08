/** Characters (UTF-16 code units) of a query that one inference call covers: a long query is the work of several. */
export const CHARACTERS_PER_CALL = 5000;

/** What queries count as: each is one inference call, and one more for every further 5,000 characters begun. */
export function inferenceCallsOf(queries: readonly string[]): number {
  return queries.reduce(
    (calls, { length }) => calls + Math.max(1, Math.ceil(length / CHARACTERS_PER_CALL)),
    0,
  );
}
