import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { reload } from './hot-reload/measure.js';
import { machine } from './report.js';

/**
 * Memory and threads of a process that loads a model again and again without closing it, as a development server does that
 * runs a module after each change: after the second load and after the last one, with one answer each.
 *
 * Usage: `npm run bench -- hot-reload [--model sentiment-classification] [--loads 100] [--library <a clone's dist/index.js>]`.
 */

const { values: options } = parseArgs({
  options: {
    model: { type: 'string', default: 'sentiment-classification' },
    loads: { type: 'string', default: '100' },
    library: { type: 'string', default: fileURLToPath(new URL('../dist/index.js', import.meta.url)) },
  },
});
const library = pathToFileURL(resolve(options.library)).href;
const mebibytes = (bytes: number) => Math.round(bytes / 2 ** 20);

console.log(`${machine()}; ${options.loads} loads of ${options.model}\n`);
console.log('| isolation | garbage | RSS after load 2, MiB | after the last | times | worker threads | all threads |');
console.log('|---|---|---|---|---|---|---|');
for (const isolation of ['auto', 'worker'] as const) {
  for (const collects of [true, false]) {
    const loads = await reload({ library, model: options.model, loads: Number(options.loads), isolation, collects });
    const [second, last] = [loads[1], loads.at(-1)];
    if (second === undefined || last === undefined) throw new Error('give two loads or more');
    const cells = [
      isolation,
      collects ? 'collected after each load' : 'when Node collects it',
      mebibytes(second.rss),
      mebibytes(last.rss),
      (last.rss / second.rss).toFixed(2),
      `${second.threads} → ${last.threads}`,
      `${second.tasks} → ${last.tasks}`,
    ];
    console.log(`| ${cells.join(' | ')} |`);
  }
}
