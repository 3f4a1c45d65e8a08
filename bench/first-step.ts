import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import * as z from 'zod';

/**
 * Time from a call of `train` with 12 rows to its first training step: in the first call of a process, and in a later one.
 * Each process loads one build, and the builds take turns, so that two of them can be compared.
 * Usage: `npm run bench -- first-step <built clone> [another built clone] [--runs 10]`
 */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { runs: { type: 'string', default: '10' } },
});
const builds = positionals.map((path) => pathToFileURL(resolve(path, 'dist/index.js')).href);

/** One process: two training runs, and how long each took to its first step. */
const script = `
const { train } = await import(process.argv[1]);
const texts = ['Works perfectly', 'Great sound', 'I love it', 'Arrived early', 'A bargain', 'Friendly help',
  'Broke at once', 'Awful sound', 'I hate it', 'Arrived late', 'Overpriced', 'Rude answers'];
const rows = texts.map((text, at) => ({ text, label: at < 6 ? 'positive' : 'negative' }));
const figures = [];
for (let call = 0; call < 2; call += 1) {
  const [startedAt, used] = [performance.now(), process.cpuUsage()];
  let first;
  const trained = await train({ rows, epochs: 1, onProgress: (event) => {
    if (event.type !== 'progress' || event.phase !== 'train') return;
    const { user, system } = process.cpuUsage(used);
    first ??= { wall: performance.now() - startedAt, processor: (user + system) / 1000 };
  } });
  if (trained.isErr()) throw trained.error;
  await trained.value.close();
  figures.push(first);
}
console.log(JSON.stringify(figures));
`;

const figuresSchema = z.array(z.object({ wall: z.number(), processor: z.number() }));
type Figures = z.infer<typeof figuresSchema>;

const runs = new Map<string, Figures[]>(builds.map((build) => [build, []]));
for (let run = 0; run < Number(values.runs); run += 1) {
  for (const build of run % 2 === 0 ? builds : builds.toReversed()) {
    const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', script, build]);
    runs.get(build)?.push(figuresSchema.parse(JSON.parse(printed.toString('utf8'))));
  }
}

const median = (figures: readonly number[]): number =>
  figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)] ?? Number.NaN;

for (const [build, all] of runs) {
  for (const [call, name] of ['first call', 'second call'].entries()) {
    const wall = median(all.map((figures) => figures[call]?.wall ?? Number.NaN));
    const processor = median(all.map((figures) => figures[call]?.processor ?? Number.NaN));
    console.log(`${build} ${name}: ${wall.toFixed(0)} ms, ${processor.toFixed(0)} ms of processor time`);
  }
}
