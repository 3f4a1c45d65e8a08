import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { machine, median } from './report.js';

/**
 * The time from the import to the first answer, beside transformers.js on the same folder: fresh processes that take
 * turns. Node's own start isn't counted. Orchard answers with both experts, the peer with the encoder alone.
 *
 * Usage: `npm run bench -- first-answer [--model sentiment-classification] [--query <text>] [--rounds 15]`.
 */

const { values: options } = parseArgs({
  options: {
    model: { type: 'string', default: 'sentiment-classification' },
    query: { type: 'string', default: 'a fine film' },
    rounds: { type: 'string', default: '15' },
  },
});
const here = fileURLToPath(new URL('.', import.meta.url));
const catalogue = join(here, '..', 'models', 'catalogue');

/** Plain JavaScript, so that no compiler takes time. */
const libraries = ['orchard', 'transformers'] as const;
type Library = (typeof libraries)[number];
const parts = ['import', 'worker', 'model', 'answer', 'total'] as const;
/** Milliseconds. */
type Times = Readonly<Partial<Record<(typeof parts)[number], number>>>;

async function measure(library: Library): Promise<Times> {
  const script = join(here, 'first-answer', `${library}.mjs`);
  const args = [script, catalogue, options.model, options.query];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout);
}

const measured: Record<Library, Times[]> = { orchard: [], transformers: [] };
for (let round = 0; round < Number(options.rounds); round += 1) {
  const inTurn = round % 2 === 0 ? libraries : [...libraries].reverse();
  for (const library of inTurn) measured[library].push(await measure(library));
}

/** The median of a part, NaN where a library has no such part. */
function middle(library: Library, part: (typeof parts)[number]): number {
  return median(measured[library].flatMap((times) => times[part] ?? []));
}

function least(library: Library): number {
  return Math.min(...measured[library].flatMap(({ total }) => total ?? []));
}

console.log(`${machine()}; ${options.model}, ${options.rounds} rounds, median ms\n`);
console.log(`| | ${parts.join(' | ')} | least |\n|${' --- |'.repeat(parts.length + 2)}`);
for (const library of libraries) {
  const cells = [...parts.map((part) => middle(library, part)), least(library)];
  console.log(`| ${library} | ${cells.map((ms) => (Number.isNaN(ms) ? '' : ms.toFixed(0))).join(' | ')} |`);
}
console.log(`\nratio ${(middle('orchard', 'total') / middle('transformers', 'total')).toFixed(2)}`);
