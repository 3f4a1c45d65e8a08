/** Long computations that can be stopped, and leave their thread free for other things every few milliseconds. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { AbortedError } from './errors.js';

/** How long this thread computes before others get a turn: half of what an application may be held up. */
const SLICE_MS = 10;

/** When others last had a turn, as far as is known here. */
let turnedAt = Number.NEGATIVE_INFINITY;

/** Whether it is time to `await pause(signal)`. Cheap enough for every row of a dataset. */
export function isPauseDue(): boolean {
  return performance.now() - turnedAt >= SLICE_MS;
}

/** Lets everything else in this thread have its turn, where one is due. @throws AbortedError once the signal has fired. */
export async function pause(signal?: AbortSignal): Promise<void> {
  if (isPauseDue()) {
    await nextTurn();
    turnedAt = performance.now();
  }
  if (signal?.aborted) throw new AbortedError('the training');
}

/**
 * The items, for a loop whose turns are short: `for await (const row of paced(rows, signal))`.
 * @throws AbortedError, within a slice, once the signal has fired.
 */
export async function* paced<T>(
  items: Iterable<T>,
  signal?: AbortSignal,
): AsyncGenerator<T, void, undefined> {
  for (const item of items) {
    if (isPauseDue()) await pause(signal);
    yield item;
  }
}

/** As `items.map(change)`, with pauses. */
export async function pacedMap<T, Result>(
  items: Iterable<T>,
  change: (item: T, at: number) => Result,
  signal?: AbortSignal,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const item of items) {
    if (isPauseDue()) await pause(signal);
    results.push(change(item, results.length));
  }
  return results;
}

/** As `items.filter(keeps)`, with pauses. */
export async function pacedFilter<T>(
  items: Iterable<T>,
  keeps: (item: T) => boolean,
  signal?: AbortSignal,
): Promise<T[]> {
  const results: T[] = [];
  for (const item of items) {
    if (isPauseDue()) await pause(signal);
    if (keeps(item)) results.push(item);
  }
  return results;
}
