import { shortTexts } from '../scenarios.js';
import { StageTimes } from '../stage-times.js';
import type { Mode, Rows } from './mode.js';
import { settledMebibytes } from './resident.js';

/** How often memory is read. */
const PARTS = 10;
const ROOM_FOR_ONE = 64 * 2 ** 20;

/** Memory while two models take turns in room for one: each is loaded and leaves in every cycle. */
export const cycles: Mode = async ({ amount, ids }, open) => {
  const loads = new StageTimes();
  await using predictor = open({ memoryLimit: ROOM_FOR_ONE });
  const [text = ''] = shortTexts('classification', 1);
  const rows: Rows = {};
  const samples: number[] = [];
  const perPart = Math.max(1, Math.round(amount / PARTS));
  for (let part = 1; part <= PARTS; part += 1) {
    for (let cycle = 0; cycle < perPart; cycle += 1) {
      for (const id of [ids.classification, ids.tagging]) {
        (await predictor.predictCustom(id, text))._unsafeUnwrap();
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
