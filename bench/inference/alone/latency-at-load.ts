import { setTimeout as sleep } from 'node:timers/promises';
import type { Predictor } from 'orchard-nlp';
import { Random } from '../../../src/system/index.js';
import { askRepeatedly } from '../../http/ask-repeatedly.js';
import { median, quantile } from '../../report.js';
import { LoopDelay } from '../loop-delay.js';
import { mixedTexts, shortTexts } from '../scenarios.js';
import type { Mode, Rows } from './mode.js';

const TEXTS = 1000;
/** Callers that keep the workers busy. */
const CALLERS = 64;
const SECONDS = 5;
const LOADED_SECONDS = 15;

/**
 * The time of one text when requests arrive at random, at a share of the highest throughput. Nobody waits for an answer
 * before asking again; a request's time counts from when it was due, however late the event loop was.
 */
export const latencyAtLoad: Mode = async ({ amount, ids }, open) => {
  await using predictor = open();
  const rows: Rows = {};
  for (const [name, texts] of [
    ['short', shortTexts('classification', TEXTS)],
    ['mixed', mixedTexts('classification', TEXTS)],
  ] as const) {
    let next = 0;
    const ask = async () => {
      next += 1;
      return predictor.predictCustom(ids.classification, texts[next % TEXTS] ?? '');
    };
    const lanes = Array.from({ length: CALLERS }, () => async () => (await ask())._unsafeUnwrap());
    await askRepeatedly(lanes, 1);
    const { requestsPerSecond } = await askRepeatedly(lanes, SECONDS);
    const rate = amount * requestsPerSecond;
    const loopDelay = await LoopDelay.start();
    const { latencies, refused } = await askAtRandom(ask, rate, LOADED_SECONDS);
    const late = await loopDelay.stop();
    const [p50, p99] = [median(latencies), quantile(latencies, 0.99)];
    rows[name] = {
      'highest texts/s': Math.round(requestsPerSecond),
      'arriving/s': Math.round(rate),
      'p50 ms': Number(p50.toFixed(2)),
      'p99 ms': Number(p99.toFixed(2)),
      'p99 / p50': Number((p99 / p50).toFixed(1)),
      'loop delay p99 ms': Number(late.p99.toFixed(1)),
      refused,
    };
  }
  return rows;
};

/** @returns milliseconds of each request that was answered, and how many were not: a slower machine by now refuses some. */
async function askAtRandom(ask: () => Promise<Asked>, perSecond: number, seconds: number) {
  const latencies: number[] = [];
  let refused = 0;
  const asked: Promise<void>[] = [];
  const startedAt = performance.now();
  for (const due of arrivals(perSecond, seconds, Random.fromSeed(3))) {
    const wait = startedAt + due - performance.now();
    if (wait > 0) await sleep(wait);
    const note = (answer: Asked) => {
      if (answer.isErr()) refused += 1;
      else latencies.push(performance.now() - startedAt - due);
    };
    asked.push(ask().then(note));
  }
  await Promise.all(asked);
  return { latencies, refused };
}

type Asked = Awaited<ReturnType<Predictor['predictCustom']>>;

/** Times of a Poisson process, in whole milliseconds, which is what a timer can keep. */
export function arrivals(perSecond: number, seconds: number, random: Random): number[] {
  const times: number[] = [];
  const next = () => (-1000 * Math.log(1 - random.uniform())) / perSecond;
  for (let time = next(); time < 1000 * seconds; time += next()) times.push(Math.ceil(time));
  return times;
}
