import { parseArgs } from 'node:util';
import { type Device, listDevices, orThrow, train } from '../src/index.js';
import { readers } from './datasets/labelled-texts.js';
import { machine } from './report.js';

/**
 * Training speed of each device: two epochs of SST-2's first rows with english-mini. Prints rows per second within the
 * last epoch, without evaluations, and the accuracy on 400 dev rows after each epoch.
 * Usage: `npm run bench -- devices <datasets folder> [device@threads@batch size …] [--rows 3000]`. Default: the CPU with 1
 * and 8 threads in batches of 32, and every other device with 4 threads in batches of 32 and of 256
 */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rows: { type: 'string', default: '3000' } },
});
const [datasets, ...asked] = positionals;
const splits = datasets === undefined ? undefined : readers.sst2?.(datasets);
if (splits === undefined) {
  console.error('give the folder of the datasets: npm run bench -- devices <folder>');
  process.exit(2);
}
const rowOf = ({ text, labels: [label = ''] }: { text: string; labels: readonly string[] }) => ({ text, label });
const rows = splits.train.slice(0, Number(values.rows)).map(rowOf);
const dev = splits.dev.slice(0, 400).map(rowOf);

console.log(machine());
const available = (await listDevices()).flatMap(({ device, isAvailable, productMs, reason }) => {
  console.log(
    `${device}: ${isAvailable ? `a product of two 512×512 matrices takes ${productMs?.toFixed(1)} ms` : reason}`,
  );
  return isAvailable ? [device] : [];
});
const others = available
  .filter((device) => device !== 'cpu')
  .flatMap((device) => [`${device}@4@32`, `${device}@4@256`]);
for (const each of asked.length > 0 ? asked : ['cpu@1@32', 'cpu@8@32', ...others]) {
  const [name, threads, batchSize] = each.split('@');
  const device = available.find((one) => one === name);
  if (device === undefined || !(Number(threads) > 0 && Number(batchSize) > 0)) {
    throw new Error(`${each}: give device@threads@batch size; available: ${available.join(', ')}`);
  }
  console.log(`${each}: ${await speedOf(device, Number(threads), Number(batchSize))}`);
}

async function speedOf(device: Exclude<Device, 'auto'>, threads: number, batchSize: number): Promise<string> {
  const startedAt = performance.now();
  const steps: { epoch: number; step: number; at: number }[] = [];
  const [warnings, accuracies]: [string[], number[]] = [[], []];
  const trained = train({
    ...{ rows, dev, device, threads, batchSize, epochs: 2, seed: 1, size: 'mini', language: 'english' },
    onProgress(event) {
      if (event.type === 'epoch') accuracies.push(event.stats.metrics.validation.accuracy?.at(-1) ?? Number.NaN);
      if (event.type === 'warnings') warnings.push(...event.warnings.map(({ message }) => message));
      if (event.type !== 'progress' || event.phase !== 'train' || event.step === 0) return;
      steps.push({ epoch: event.epoch, step: event.step, at: performance.now() });
    },
  });
  await (await orThrow(trained)).close();
  const last = steps.filter(({ epoch }) => epoch === steps.at(-1)?.epoch);
  const [from, to, first] = [last[0], last.at(-1), steps[0]];
  const seconds = ((to?.at ?? 0) - (from?.at ?? 0)) / 1000;
  const rate = (((to?.step ?? 0) - (from?.step ?? 0)) * batchSize) / seconds;
  const start = ((first?.at ?? 0) - startedAt) / 1000;
  return [
    `${rate.toFixed(0)} rows/s in the last epoch, first step after ${start.toFixed(1)} s, dev accuracy ${accuracies.map((each) => each.toFixed(4)).join(', ')}`,
    ...warnings,
  ].join('; ');
}
