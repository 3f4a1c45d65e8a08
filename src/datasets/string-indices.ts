import { type ProblemList, quoted } from './problems.js';

/** Checks that the keys of an object are "0", "1", … without gaps, in any order. */
export function checkIndices(keys: Iterable<string>, file: string, problems: ProblemList): void {
  const ids = new Set<number>();
  for (const key of keys) {
    if (/^(0|[1-9]\d*)$/.test(key)) ids.add(Number(key));
    else problems.add({ file, found: `found the id ${quoted(key)}`, expected: 'a whole number' });
  }
  for (let id = 0; id < ids.size; id += 1) {
    if (ids.has(id)) continue;
    problems.add({ file, found: `the id ${id} is missing`, expected: 'ids from 0 without gaps' });
    return;
  }
}
