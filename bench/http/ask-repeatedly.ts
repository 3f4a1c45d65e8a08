import type { Load } from './messages.js';

/**
 * Keeps several calls under way for a while: each of the `lanes` makes its next call when its last one is
 * answered.
 */
export async function askRepeatedly(lanes: readonly (() => Promise<unknown>)[], seconds: number): Promise<Load> {
  const latencies: number[] = [];
  const startedAt = performance.now();
  const endAt = startedAt + 1000 * seconds;
  await Promise.all(
    lanes.map(async (ask) => {
      for (let now = performance.now(); now < endAt; ) {
        const askedAt = now;
        await ask();
        now = performance.now();
        latencies.push(now - askedAt);
      }
    }),
  );
  const elapsedSeconds = (performance.now() - startedAt) / 1000;
  return { requestsPerSecond: latencies.length / elapsedSeconds, latencies };
}
