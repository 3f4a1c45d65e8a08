import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { addToHistory, type HistoryLine, type Measured, readHistory } from './history/lines.js';
import { type Measure, measures } from './history/measures.js';
import { drawHistory } from './history/plot.js';
import { median, quantile } from './report.js';

/**
 * One line for each commit in bench/history/history.jsonl, and their plot in docs/pictures/history.svg: the processor's time
 * of short work of each kind, divided by that of work beside it which no commit of ours changes. Processor time and
 * pairs make the ratios hold on a machine that has other things to do.
 *
 * Usage: `npm run bench -- history [--rounds 7] [--draw]`; `--draw` measures nothing. Lines of this machine are drawn.
 */

const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '7' }, draw: { type: 'boolean', default: false } },
});
const rounds = Number(options.rounds);
const file = fileURLToPath(new URL('./history/history.jsonl', import.meta.url));
const picture = fileURLToPath(new URL('../docs/pictures/history.svg', import.meta.url));
const here = `${cpus()[0]?.model ?? 'unknown processor'}, ${cpus().length} cores, Node ${process.versions.node.split('.')[0]}`;

/** The yardstick before and after the work, so that what changes meanwhile is halved. */
async function ratioOf({ work, yardstick }: Measure): Promise<number> {
  const before = await yardstick();
  const worked = await work();
  return worked / ((before + (await yardstick())) / 2);
}

/** Rounds take turns over all measures, after one that warms up. */
async function measureAll(): Promise<Record<string, Measured>> {
  const all = await measures();
  const ratios = new Map(all.map(({ name }) => [name, [] as number[]]));
  for (let round = 0; round <= rounds; round += 1)
    for (const measure of all) {
      const ratio = await ratioOf(measure);
      if (round > 0) ratios.get(measure.name)?.push(ratio);
    }
  for (const { close } of all) await close?.();
  return Object.fromEntries([...ratios].map(([name, values]) => [name, summaryOf(values)]));
}

function summaryOf(ratios: readonly number[]): Measured {
  const rounded = (value: number) => Number(value.toPrecision(4));
  return {
    ratio: rounded(median(ratios)),
    low: rounded(quantile(ratios, 0.25)),
    high: rounded(quantile(ratios, 0.75)),
  };
}

const git = (...args: readonly string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim();

async function measured(): Promise<readonly HistoryLine[]> {
  const isChanged = git('status', '--porcelain', '--untracked-files=no', '--', 'src', 'models') !== '';
  const commit = `${git('rev-parse', '--short=12', 'HEAD')}${isChanged ? '+' : ''}`;
  const date = new Date().toISOString().slice(0, 10);
  const line = { commit, date, machine: here, rounds, measured: await measureAll() };
  console.table(line.measured);
  return addToHistory(file, line);
}

const lines = options.draw ? readHistory(file) : await measured();
writeFileSync(picture, drawHistory(lines.filter(({ machine }) => machine === here)));
