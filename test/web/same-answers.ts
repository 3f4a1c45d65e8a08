import { expect } from 'vitest';

/** Of all numbers in two answers, which must be alike in everything else. */
export function largestDifference(given: unknown, expected: unknown): number {
  if (typeof given === 'number' && typeof expected === 'number') return Math.abs(given - expected);
  if (typeof given !== 'object' || given === null || typeof expected !== 'object' || expected === null) {
    expect(given).toEqual(expected);
    return 0;
  }
  expect(Object.keys(given)).toEqual(Object.keys(expected));
  const others = Object.values(expected);
  return Object.values(given).reduce(
    (most: number, value, at) => Math.max(most, largestDifference(value, others[at])),
    0,
  );
}

/** Labels in a fixed order: far down the list, labels have nearly the same probability. */
export const byLabel = (answer: object): object =>
  'scores' in answer && Array.isArray(answer.scores)
    ? { ...answer, scores: [...answer.scores].sort((a, b) => (a.label < b.label ? -1 : 1)) }
    : answer;
