import { LoopDelay } from '../loop-delay.js';
import { shortTexts } from '../scenarios.js';
import type { Mode } from './mode.js';
import { residentMebibytes, settledMebibytes } from './resident.js';

const SAMPLE_EVERY_MS = 10;
const WARM_UP = 200;

/** Many requests of one short text in one turn of the event loop: what becomes of them, and the memory meanwhile. */
export const overload: Mode = async ({ amount, ids }, open) => {
  await using predictor = open();
  const ask = async (text: string) => {
    const answer = await predictor.predictCustom(ids.classification, text);
    return answer.isOk() ? 'answered' : answer.error.code;
  };
  await Promise.all(shortTexts('classification', WARM_UP).map(ask));
  const texts = shortTexts('classification', amount);
  const before = await settledMebibytes();
  let peak = before;
  const sample = () => {
    peak = Math.max(peak, residentMebibytes());
  };
  const timer = setInterval(sample, SAMPLE_EVERY_MS);
  const loopDelay = await LoopDelay.start();
  const startedAt = performance.now();
  const outcomes = await Promise.all(texts.map(ask));
  const seconds = (performance.now() - startedAt) / 1000;
  const { p99, max } = await loopDelay.stop();
  clearInterval(timer);
  sample();
  const row: Record<string, number> = {};
  for (const outcome of outcomes) row[outcome] = (row[outcome] ?? 0) + 1;
  return {
    [`${amount} at once`]: {
      ...row,
      seconds: Number(seconds.toFixed(2)),
      'RSS before': Math.round(before),
      'peak RSS MiB': Math.round(peak),
      'loop delay p99 ms': Number(p99.toFixed(1)),
      'longest ms': Number(max.toFixed(1)),
    },
  };
};
