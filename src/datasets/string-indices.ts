import { isPauseDue, pause } from '../system/index.js';
import type { JsonMember } from './json-file.js';
import { type ProblemList, quoted } from './problems.js';

/** Checks that the keys of an object are "0", "1", … without gaps, in any order. */
export async function checkIndices(
  members: readonly JsonMember[],
  file: string,
  problems: ProblemList,
  signal?: AbortSignal,
): Promise<void> {
  const ids = new Set<number>();
  for (const { key } of members) {
    if (isPauseDue()) await pause(signal);
    if (/^(0|[1-9]\d*)$/.test(key)) ids.add(Number(key));
    else problems.add({ file, found: `found the id ${quoted(key)}`, expected: 'a whole number' });
  }
  for (let id = 0; id < ids.size; id += 1) {
    if (isPauseDue()) await pause(signal);
    if (ids.has(id)) continue;
    problems.add({ file, found: `the id ${id} is missing`, expected: 'ids from 0 without gaps' });
    return;
  }
}

/** The members by their indices; mostly they are in that order already, and sorting many takes a while. */
export function byIndex(members: readonly JsonMember[]): readonly JsonMember[] {
  const isSorted = members.every(({ key }, at) => Number(key) >= Number(members[at - 1]?.key ?? 0));
  return isSorted ? members : [...members].sort((a, b) => Number(a.key) - Number(b.key));
}
