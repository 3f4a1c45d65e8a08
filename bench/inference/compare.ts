import { median, quantile } from '../report.js';
import type { Answerer } from './answerers.js';

/** Texts, and how many of them go into each call. */
export interface Scenario {
  readonly name: string;
  readonly texts: readonly string[];
  readonly batch: number;
}

/** Milliseconds of every call. */
async function timeCalls({ answer }: Answerer, { texts, batch }: Scenario): Promise<number[]> {
  const times: number[] = [];
  for (let start = 0; start < texts.length; start += batch) {
    const some = texts.slice(start, start + batch);
    const startedAt = performance.now();
    await answer(some);
    times.push(performance.now() - startedAt);
  }
  return times;
}

/**
 * Measures both libraries in rounds that take turns; each goes first in every other round, since a shared
 * machine drifts by more than the difference to be measured.
 * @returns a row of the table.
 */
export async function compare(scenario: Scenario, ours: Answerer, peer: Answerer, rounds: number) {
  const times = new Map<Answerer, number[][]>([
    [ours, []],
    [peer, []],
  ]);
  for (const each of [ours, peer]) await timeCalls(each, scenario);
  for (let round = 0; round < rounds; round += 1) {
    for (const each of round % 2 === 0 ? [ours, peer] : [peer, ours]) {
      times.get(each)?.push(await timeCalls(each, scenario));
    }
  }
  const totals = (each: Answerer) => (times.get(each) ?? []).map((calls) => calls.reduce((a, b) => a + b, 0));
  const ratios = totals(peer).map((total, round) => total / (totals(ours)[round] ?? Number.NaN));
  const textsPerSecond = (each: Answerer) =>
    Math.round((1000 * scenario.texts.length) / median(totals(each)));
  const latency = (each: Answerer) => {
    const calls = (times.get(each) ?? []).flat();
    return [median(calls), quantile(calls, 0.99)].map((milliseconds) => milliseconds.toFixed(2)).join(' / ');
  };
  return {
    'ours (texts/s)': textsPerSecond(ours),
    'peer (texts/s)': textsPerSecond(peer),
    'ours / peer': Number(median(ratios).toFixed(2)),
    'by round': ratios.map((ratio) => ratio.toFixed(1)).join(' '),
    'ours: p50 / p99 (ms a call)': latency(ours),
    'peer: p50 / p99': latency(peer),
  };
}
