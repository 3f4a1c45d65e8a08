import { Random } from '../../../src/system/index.js';
import { mixedTexts, shortTexts } from '../scenarios.js';
import type { Mode, Rows } from './mode.js';
import { settledMebibytes } from './resident.js';

const CALLERS = 16;
const TEXTS = 2000;
/** How often memory is read. */
const PARTS = 10;
const BATCH = 20;

/** Memory over many requests to three models: single texts, short and mixed, and now and then a batch of any size. */
export const soak: Mode = async ({ amount, ids }, open) => {
  await using predictor = open();
  const texts = [...shortTexts('classification', TEXTS), ...mixedTexts('classification', TEXTS)];
  const random = Random.fromSeed(2);
  const any = () => texts[random.integer(texts.length)] ?? '';
  const models = [ids.classification, ids.tagging, ids.retrieval];
  const ask = async () => {
    const id = models[random.integer(models.length)] ?? '';
    const isBatch = random.integer(BATCH) === 0;
    const answer = isBatch
      ? await predictor.predictCustomBatch(id, Array.from({ length: 1 + random.integer(BATCH) }, any))
      : await predictor.predictCustom(id, any());
    answer._unsafeUnwrap();
  };
  const rows: Rows = {};
  let first: number | undefined;
  for (let part = 1; part <= PARTS; part += 1) {
    await repeat(Math.round(amount / PARTS), ask);
    const mebibytes = await settledMebibytes();
    first ??= mebibytes;
    rows[`after ${Math.round((part * amount) / PARTS)} requests`] = {
      'RSS MiB': Math.round(mebibytes),
      '% of the first': Number(((100 * mebibytes) / first).toFixed(1)),
    };
  }
  return rows;
};

async function repeat(times: number, ask: () => Promise<void>): Promise<void> {
  let left = times;
  const caller = async () => {
    for (; left > 0; ) {
      left -= 1;
      await ask();
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
}
