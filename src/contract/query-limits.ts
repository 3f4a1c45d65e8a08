/** Queries of a batch (docs/service.md, "Limits"). */
export const MAX_BATCH_QUERIES = 20;
/**
 * UTF-16 code units of a query (docs/service.md, "Limits"): some fifty pages. The longest takes a small encoder seconds,
 * in slices that others' queries go between.
 */
export const MAX_QUERY_CHARACTERS = 100_000;
