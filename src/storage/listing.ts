import type { ListOptions } from './storage.js';

/** How many records a listing has where `limit` is not given. */
export const DEFAULT_LIMIT = 100;

/** The keys that the options ask for, in their order; `limit` is left to the caller. */
export function listedKeys(
  keys: Iterable<string>,
  { prefix = '', after, reverse = false }: ListOptions,
): string[] {
  const direction = reverse ? -1 : 1;
  return [...keys]
    .filter((key) => key.startsWith(prefix))
    .filter((key) => after === undefined || compareCodeUnits(key, after) * direction > 0)
    .sort((a, b) => compareCodeUnits(a, b) * direction);
}

function compareCodeUnits(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
