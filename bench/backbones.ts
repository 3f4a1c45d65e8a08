import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { type Cell, cellSchema, DATASETS, figuresSchema, runCell } from './backbone-table/cell.js';
import { resultsIn, resultTable } from './backbone-table/results.js';
import { machine } from './report.js';

/**
 * What pretrained encoders reach when they are fine-tuned here: every folder of backbones on six datasets, each cell in
 * a process of its own. Results go to a JSON file at once; cells that are in it already are not run again.
 * Usage: `npm run bench -- backbones <datasets folder> <folder of backbones> [--backbone name …] [--dataset name …]`,
 * `--rows 2000 --test-rows 1000` at most, `--epochs --learning-rate` instead of the defaults, `--threads 2 --seed 1`,
 * `--results backbones.json`, `--table` to print what there is without running anything.
 */

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    backbone: { type: 'string', multiple: true },
    dataset: { type: 'string', multiple: true, default: DATASETS },
    rows: { type: 'string' },
    'test-rows': { type: 'string' },
    epochs: { type: 'string' },
    'learning-rate': { type: 'string' },
    threads: { type: 'string', default: '2' },
    seed: { type: 'string', default: '1' },
    results: { type: 'string', default: 'backbones.json' },
    table: { type: 'boolean', default: false },
    cell: { type: 'string' },
  },
});
const [datasets, backbones] = positionals.map((folder) => resolve(folder));
if (datasets === undefined || backbones === undefined) {
  console.error('give two folders: npm run bench -- backbones <datasets folder> <folder of backbones>');
  process.exit(2);
}

const given = (written: string | undefined): number | undefined =>
  written === undefined ? undefined : Number(written);

function cellOf(backbone: string, dataset: string): Cell {
  const settings = {
    rows: given(options.rows),
    testRows: given(options['test-rows']),
    epochs: given(options.epochs),
    learningRate: given(options['learning-rate']),
  };
  const known = Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
  const { threads, seed } = options;
  return cellSchema.parse({ backbone, dataset, ...known, threads: Number(threads), seed: Number(seed) });
}

/** Runs a cell in another process, so that its memory and processor time are its own. */
function runApart(cell: Cell, folders: readonly string[]): string | undefined {
  const script = fileURLToPath(import.meta.url);
  const args = [...process.execArgv, script, ...folders, '--cell', JSON.stringify(cell)];
  const { stdout, status } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return status === 0 ? stdout.trim().split('\n').at(-1) : undefined;
}

function runAll(folders: readonly [string, string]): void {
  const results = resultsIn(options.results);
  const found = readdirSync(folders[1]).filter((name) => existsSync(join(folders[1], name, 'config.json')));
  for (const dataset of options.table ? [] : options.dataset) {
    for (const backbone of options.backbone ?? found) {
      const cell = cellOf(backbone, dataset);
      if (results.all.some((result) => isDeepStrictEqual(result.cell, cell))) continue;
      console.log(`${backbone} on ${dataset} …`);
      const answer = runApart(cell, folders);
      if (answer === undefined) console.log('  it failed');
      else results.add({ cell, figures: figuresSchema.parse(JSON.parse(answer)), machine: machine() });
    }
  }
  console.log(`${machine()}\n${resultTable(results.all)}`);
}

if (options.cell === undefined) runAll([datasets, backbones]);
else console.log(JSON.stringify(await runCell(cellSchema.parse(JSON.parse(options.cell)), datasets, backbones)));
