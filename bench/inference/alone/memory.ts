import { Random } from '../../../src/system/index.js';
import { LoopDelay } from '../serve-rounds.js';
import { textsFor } from '../texts.js';
import type { Mode, Rows } from './process.js';
import { StageTimes } from './time.js';

/** What the allocators need to give memory back. */
const SETTLING_MS = 200;
/** How often memory is read in a soak, and in cycles. */
const PARTS = 10;

/** Resident memory, MiB, once this thread's garbage is gone. The process needs `--expose-gc`. */
async function settledMebibytes(): Promise<number> {
  for (let time = 0; time < 2; time += 1) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, SETTLING_MS));
  }
  return residentMebibytes();
}

function residentMebibytes(): number {
  return process.memoryUsage.rss() / 2 ** 20;
}

const SOAK_CALLERS = 16;
const SOAK_TEXTS = 2000;
const SOAK_BATCH = 20;

/** Memory over many requests to three models: single texts, short and mixed, and now and then a batch of any size. */
export const soak: Mode = async (amount, open) => {
  await using predictor = open();
  const lengths = ['short', 'mixed'] as const;
  const texts = lengths.flatMap((length) => textsFor('classification', length, SOAK_TEXTS));
  const random = Random.fromSeed(2);
  const any = () => texts[random.integer(texts.length)] ?? '';
  const models = ['classification', 'tagging', 'retrieval'];
  const ask = async () => {
    const model = models[random.integer(models.length)] ?? '';
    const isBatch = random.integer(SOAK_BATCH) === 0;
    const answer = isBatch
      ? await predictor.predictPretrainedBatch(model, Array.from({ length: 1 + random.integer(SOAK_BATCH) }, any))
      : await predictor.predictPretrained(model, any());
    answer._unsafeUnwrap();
  };
  const rows: Rows = {};
  let first: number | undefined;
  for (let part = 1; part <= PARTS; part += 1) {
    let left = Math.round(amount / PARTS);
    const caller = async () => {
      for (; left > 0; ) {
        left -= 1;
        await ask();
      }
    };
    await Promise.all(Array.from({ length: SOAK_CALLERS }, caller));
    const mebibytes = await settledMebibytes();
    first ??= mebibytes;
    rows[`after ${Math.round((part * amount) / PARTS)} requests`] = {
      'RSS MiB': Math.round(mebibytes),
      '% of the first': Number(((100 * mebibytes) / first).toFixed(1)),
    };
  }
  return rows;
};

/** Memory while two models take turns in room for one: each is loaded and leaves in every cycle. */
export const cycles: Mode = async (amount, open) => {
  const [text = ''] = textsFor('classification', 'short', 1);
  const roomy = open();
  for (const model of ['classification', 'tagging']) (await roomy.predictPretrained(model, text))._unsafeUnwrap();
  // Too little for both.
  const memoryLimit = Math.floor(0.95 * roomy.stats().memory.models);
  await roomy.close();
  const loads = new StageTimes();
  await using predictor = open({ memoryLimit });
  const rows: Rows = {};
  const samples: number[] = [];
  const perPart = Math.max(1, Math.round(amount / PARTS));
  for (let part = 1; part <= PARTS; part += 1) {
    for (let cycle = 0; cycle < perPart; cycle += 1) {
      for (const model of ['classification', 'tagging']) {
        (await predictor.predictPretrained(model, text))._unsafeUnwrap();
      }
    }
    const mebibytes = await settledMebibytes();
    samples.push(mebibytes);
    rows[`after ${part * perPart} cycles`] = {
      'RSS MiB': Number(mebibytes.toFixed(1)),
      loads: loads.of('load').length,
    };
  }
  loads.stop();
  // The first parts fill caches and arenas.
  const settled = samples.slice(samples.length / 2);
  rows['in the second half'] = { 'KiB a cycle': Number(((1024 * slope(settled)) / perPart).toFixed(1)) };
  return rows;
};

/** Of the least-squares line through values at 0, 1, 2, … */
export function slope(values: readonly number[]): number {
  const middle = (values.length - 1) / 2;
  const spread = values.reduce((sum, _, at) => sum + (at - middle) ** 2, 0);
  return values.reduce((sum, value, at) => sum + (at - middle) * value, 0) / spread;
}

const SAMPLE_EVERY_MS = 10;
const WARM_UP = 200;

/** Many requests of one short text in one turn of the event loop: what becomes of them, and the memory meanwhile. */
export const overload: Mode = async (amount, open) => {
  await using predictor = open();
  const ask = async (text: string) => {
    const answer = await predictor.predictPretrained('classification', text);
    return answer.isOk() ? 'answered' : answer.error.code;
  };
  await Promise.all(textsFor('classification', 'short', WARM_UP).map(ask));
  const texts = textsFor('classification', 'short', amount);
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
