import { setImmediate as nextTurn } from 'node:timers/promises';
import { AbortedError } from '../contract/index.js';

/** How long this thread computes before other work gets a turn: half of the delay that an application may see. */
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
  if (signal?.aborted) throw new AbortedError('the operation');
}

/** A computation that yields wherever it may be interrupted. */
export type Steps<Result> = Generator<undefined, Result, undefined>;

/** Takes all steps at once. */
export function runToEnd<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** Takes all steps, with pauses. @throws AbortedError, within a slice, once the signal has fired. */
export async function withPauses<Result>(steps: Steps<Result>, signal?: AbortSignal): Promise<Result> {
  await pause(signal);
  for (;;) {
    if (isPauseDue()) await pause(signal);
    const step = steps.next();
    if (step.done) return step.value;
  }
}

export function* mapSteps<T, Result>(items: Iterable<T>, change: (item: T, at: number) => Result): Steps<Result[]> {
  const results: Result[] = [];
  for (const item of items) {
    yield;
    results.push(change(item, results.length));
  }
  return results;
}

export function mapWithPauses<T, Result>(
  items: Iterable<T>,
  change: (item: T, at: number) => Result,
  signal?: AbortSignal,
): Promise<Result[]> {
  return withPauses(mapSteps(items, change), signal);
}

/** As `items.filter(keeps)`, with pauses. */
export async function filterWithPauses<T>(
  items: Iterable<T>,
  keeps: (item: T, position: number) => boolean,
  signal?: AbortSignal,
): Promise<T[]> {
  await pause(signal);
  const results: T[] = [];
  let position = 0;
  for (const item of items) {
    if (isPauseDue()) await pause(signal);
    if (keeps(item, position)) results.push(item);
    position += 1;
  }
  return results;
}
