import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { TemporaryDirectory } from '../src/system/index.js';
import { readReplaced } from './replaced-folder/measure.js';
import { machine } from './report.js';

/**
 * Two processes load a folder and ask its model, while another one replaces it with two models of opposite labels by turns.
 * Counts answers with a label of the other model, errors, and cards and copies of models whose folder was replaced meanwhile.
 *
 * Usage: `npm run bench -- replaced-folder [--loads 1000] [--every-ms 150] [--library <a clone's dist/index.js>]`.
 */

const { values: options } = parseArgs({
  options: {
    loads: { type: 'string', default: '1000' },
    'every-ms': { type: 'string', default: '150' },
    library: { type: 'string', default: fileURLToPath(new URL('../dist/index.js', import.meta.url)) },
  },
});
const readers = 2;
const temporary = new TemporaryDirectory();
const { saves, seen } = await readReplaced({
  library: pathToFileURL(resolve(options.library)).href,
  directory: await temporary.path(),
  readers,
  loads: Math.ceil(Number(options.loads) / readers),
  keepEvery: 10,
  everyMs: Number(options['every-ms']),
});
await temporary.remove();
console.log(`${machine()}; ${options.loads} loads by ${readers} processes, ${saves} saves\n`);
console.log('| reader | answers | mixed | errors | cards, wrong | saved, wrong |');
console.log('|---|---|---|---|---|---|');
for (const [reader, { answers, mixed, errors, cards, wrongCards, saves: copies, wrongSaves }] of seen.entries()) {
  const failures = Object.values(errors).reduce((sum, count) => sum + count, 0);
  const given = Object.entries(answers).map(([label, count]) => `${label} ${count}`);
  const cells = [reader + 1, given.join(', '), mixed, failures, `${cards}, ${wrongCards}`, `${copies}, ${wrongSaves}`];
  console.log(`| ${cells.join(' | ')} |`);
  for (const [message, count] of Object.entries(errors)) console.error(`${count} × ${message}`);
}
