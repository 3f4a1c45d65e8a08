import { parseArgs } from 'node:util';
import { z } from 'zod';
import { measureClassifier } from './few-shot/classification.js';
import { measureWnut } from './few-shot/entities.js';
import { isNoisySet, measureNoise, NOISY_NAMES } from './few-shot/noise.js';
import { isSameCell, type Measured, type Options, PEERS, type Result, resultsIn, summary } from './few-shot/results.js';
import { measureSquad } from './few-shot/retrieval.js';
import { classificationSets } from './few-shot/sets.js';
import { machine } from './report.js';

/**
 * `train()` on few rows, and peers on the same rows and the same backbone: accuracy per set and number of rows per class
 * (questions, sentences), mean over seeds ± standard error, with calibration error (ECE), what the model says of itself, and
 * seconds of training.
 * `npm run bench -- few-shot <datasets folder> [--sets sst2,wnut17] [--rows 8,16] [--seeds 5] [--first-seed 1] [--test all]
 * [--peers none|sklearn|setfit] [--threads 2] [--python python3] [--results few-shot.json] [--again]`. Cells that the results
 * have are not measured again. `--noise` measures finding label errors instead; `--rows` is then the most rows of a set.
 * Python needs `pip install scikit-learn torch transformers`; what is missing is said and left out.
 */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sets: { type: 'string' },
    rows: { type: 'string' },
    seeds: { type: 'string', default: '5' },
    'first-seed': { type: 'string', default: '1' },
    /** Most test rows, drawn at random. */
    test: { type: 'string', default: 'all' },
    peers: { type: 'string', default: 'setfit' },
    threads: { type: 'string', default: '2' },
    python: { type: 'string', default: 'python3' },
    results: { type: 'string', default: 'few-shot.json' },
    again: { type: 'boolean', default: false },
    noise: { type: 'boolean', default: false },
  },
});
const [root] = positionals;
if (root === undefined) {
  console.error('give the folder of the datasets: npm run bench -- few-shot <datasets folder>');
  process.exit(2);
}
const options: Options = {
  root,
  test: values.test === 'all' ? Number.POSITIVE_INFINITY : Number(values.test),
  peers: z.enum(PEERS).parse(values.peers),
  threads: Number(values.threads),
  python: values.python,
};
/** Results of other settings are measured anew. */
const setting = `test ${values.test}, peers ${values.peers}, threads ${values.threads}`;
const rows = values.rows?.split(',').map(Number);

interface Measurement {
  readonly rows: readonly number[];
  readonly measure: (rows: number, seed: number) => Promise<Measured>;
}

const measurements: Readonly<Record<string, Measurement>> = {
  ...Object.fromEntries(
    Object.entries(classificationSets).map(([name, set]): [string, Measurement] => {
      let read: ReturnType<typeof set.read> | undefined;
      const measure = (perClass: number, seed: number) => {
        read ??= set.read(root);
        return measureClassifier(read, perClass, seed, options);
      };
      return [name, { rows: set.rows, measure }];
    }),
  ),
  squad: { rows: [20], measure: (questions, seed) => measureSquad(questions, seed, options) },
  wnut17: { rows: [50, 200], measure: (sentences, seed) => measureWnut(sentences, seed, options) },
};

/** The names that are asked for, of those that exist. */
function asked(all: readonly string[]): readonly string[] {
  const names = values.sets?.split(',') ?? all;
  const unknown = names.filter((name) => !all.includes(name));
  if (unknown.length === 0) return names;
  console.error(`--sets: there is no ${unknown.join(', ')}, only ${all.join(', ')}`);
  process.exit(2);
}

async function measureSets(): Promise<void> {
  const results = resultsIn(values.results);
  const firstSeed = Number(values['first-seed']);
  const seeds = Array.from({ length: Number(values.seeds) }, (_, at) => firstSeed + at);
  const measured: Result[][] = [];
  for (const set of asked(Object.keys(measurements))) {
    const measurement = measurements[set];
    for (const count of rows ?? measurement?.rows ?? []) {
      const cell: Result[] = [];
      for (const seed of seeds) {
        const key = { set, rows: count, seed, setting };
        const known = results.all.find((each) => isSameCell(each, key));
        if (known !== undefined && !values.again) {
          cell.push(known);
          console.log(`${set}, ${count} rows, seed ${seed}: from ${values.results}`);
          continue;
        }
        const found = await measurement?.measure(count, seed);
        if (found === undefined) continue;
        const result = { ...key, ...found, machine: machine() };
        results.add(result);
        cell.push(result);
        console.log(
          `${set}, ${count} rows, seed ${seed}: ${JSON.stringify({ ...found.figures, seconds: found.seconds })}`,
        );
      }
      measured.push(cell);
    }
  }
  for (const cell of measured) console.table([summary(cell)]);
}

async function measureNoisySets(): Promise<void> {
  const lines: object[] = [];
  for (const name of asked(NOISY_NAMES).filter(isNoisySet)) {
    console.log(`${name} …`);
    lines.push(...(await measureNoise(name, options, rows?.[0] ?? Number.POSITIVE_INFINITY)));
  }
  console.table(lines);
}

console.log(machine());
await (values.noise ? measureNoisySets() : measureSets());
