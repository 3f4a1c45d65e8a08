import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import type { JsonValue, Storage } from '../src/storage/index.js';

/** The checks of one part of the contract, each under the sentence that it checks. */
export type StorageChecks = Readonly<Record<string, (storage: Storage) => Promise<void>>>;

/** Keys that file systems, paths, URLs and databases tend to confuse. */
export const ODD_KEYS: readonly string[] = [
  'a',
  'A',
  'a/b',
  'a/../b',
  'a\\b',
  '..',
  '.',
  '/',
  '%2f',
  '~',
  ' ',
  ' a',
  'a ',
  'a.json',
  'con',
  'nul.json',
  '__proto__',
  'line\nbreak',
  'nul\u0000byte',
  '"quoted" *?<>|:',
  'é',
  'e\u0301',
  '木',
  '🍊',
  '\ud800',
  '\ud801',
  'x'.repeat(200),
  `${'x'.repeat(199)}X`,
  '木'.repeat(200),
  `${'木'.repeat(199)}林`,
];

/** Ascending by UTF-16 code units, the order of listings. */
export function inKeyOrder(keys: readonly string[]): string[] {
  return keys.toSorted((a, b) => (a < b ? -1 : 1));
}

/** The outcomes of concurrent writers: the results, and how many failed in the expected way. */
export function outcomes<T>(settled: readonly PromiseSettledResult<T>[], isExpected: (reason: unknown) => boolean) {
  const results: T[] = [];
  for (const outcome of settled) {
    if (outcome.status === 'fulfilled') results.push(outcome.value);
    else assert.ok(isExpected(outcome.reason), `failed with ${outcome.reason}`);
  }
  return { results, failures: settled.length - results.length };
}

/** Changes an object in place, as a careless caller would. */
export function tamperWith(value: JsonValue | undefined): void {
  assert.ok(typeof value === 'object' && value !== null);
  Reflect.set(value, 'tampered', true);
}

/** Repeats the observation until the work has ended. @returns the result of the work. */
export async function observeDuring<T>(work: Promise<T>, observe: () => Promise<void>): Promise<T> {
  let isRunning = true;
  const running = work.finally(() => {
    isRunning = false;
  });
  const observing = async () => {
    for (; isRunning; await setImmediate()) await observe();
  };
  const [result] = await Promise.all([running, observing()]);
  return result;
}

/** 0 to n−1. */
export function range(n: number): number[] {
  return Array.from({ length: n }, (_, index) => index);
}
