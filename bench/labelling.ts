import { parseArgs } from 'node:util';
import { type LabelAnswer, suggestTexts, type TrainedModel, train } from 'orchard-nlp';
import { z } from 'zod';
import { Random } from '../src/system/index.js';
import { classificationSets, type LabelledText } from './few-shot/sets.js';
import { machine } from './report.js';

/**
 * Whether labelling what `suggestTexts` names helps more than labelling at random: trains on eight rows of each label, then
 * labels 20 texts at a time, trains again each time and asks the test rows.
 * Usage: `npm run bench -- labelling <datasets folder> [dataset …] [--seeds 5] [--rounds 5] [--pool 2000] [--test 1000]
 * [--effort quick]`; without names SST-2, MASSIVE, Banking77, six emotions and AG News.
 */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seeds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '5' },
    effort: { type: 'string', default: 'quick' },
    /** Unlabelled texts to choose from. */
    pool: { type: 'string', default: '2000' },
    /** Test rows, drawn at random. */
    test: { type: 'string', default: '1000' },
    threads: { type: 'string', default: '2' },
  },
});
const [folder, ...names] = positionals;
if (folder === undefined) throw new Error('usage: npm run bench -- labelling <datasets folder> [dataset …]');

/** Rows of each label to begin with, and how many texts are labelled in each of the rounds. */
const FIRST = 8;
const BATCH = 20;

const effort = z.enum(['quick', 'balanced', 'thorough']).parse(values.effort);

async function trained(rows: readonly LabelledText[], seed: number): Promise<TrainedModel<LabelAnswer>> {
  const made = await train({
    ...{ rows, seed, threads: Number(values.threads), effort, tuning: { quantize: false } },
  });
  if (made.isErr()) throw made.error;
  return made.value;
}

async function accuracyOf(model: TrainedModel<LabelAnswer>, test: readonly LabelledText[]): Promise<number> {
  const answers = (await model.predict(test.map(({ text }) => text)))._unsafeUnwrap();
  return (100 * answers.filter(({ label }, at) => label === test[at]?.label).length) / test.length;
}

type Choice = (
  model: TrainedModel<LabelAnswer>,
  pool: readonly LabelledText[],
  seed: number,
) => Promise<readonly number[]>;

const textsOf = (rows: readonly LabelledText[]) => rows.map(({ text }) => text);

const choices: Readonly<Record<string, Choice>> = {
  random: async (_model, pool, seed) => Random.fromSeed(seed, 77).shuffle(pool.keys()).slice(0, BATCH),
  suggestTexts: async (model, pool, seed) =>
    (await suggestTexts(model, textsOf(pool), { count: BATCH, seed }))._unsafeUnwrap().map(({ index }) => index),
};

/** The first rows of each label, as many of each, and the texts to choose from. */
function split(all: readonly LabelledText[], pool: number) {
  const counts = new Map<string, number>();
  const [first, rest]: [LabelledText[], LabelledText[]] = [[], []];
  for (const row of all) {
    const seen = counts.get(row.label) ?? 0;
    counts.set(row.label, seen + 1);
    (seen < FIRST ? first : rest).push(row);
  }
  return { first, pool: rest.slice(0, pool) };
}

interface Measured {
  readonly start: number;
  /** After each round, by the way to choose. */
  readonly after: Readonly<Record<string, readonly number[]>>;
}

async function measure({ first, pool }: ReturnType<typeof split>, test: readonly LabelledText[], seed: number) {
  const after: Record<string, number[]> = {};
  let start = Number.NaN;
  for (const [kind, choose] of Object.entries(choices)) {
    let rows: readonly LabelledText[] = first;
    let left: readonly LabelledText[] = pool;
    const reached: number[] = [];
    for (let round = 0; round <= Number(values.rounds); round += 1) {
      await using model = await trained(rows, seed);
      reached.push(await accuracyOf(model, test));
      const chosen = new Set(await choose(model, left, seed + round));
      rows = [...rows, ...left.filter((_, at) => chosen.has(at))];
      left = left.filter((_, at) => !chosen.has(at));
    }
    [start = Number.NaN] = reached;
    after[kind] = reached.slice(1);
  }
  return { start, after };
}

const mean = (numbers: readonly number[]) => numbers.reduce((sum, each) => sum + each, 0) / numbers.length;
const withError = (numbers: readonly number[]) => {
  const middle = mean(numbers);
  const variance = numbers.reduce((sum, each) => sum + (each - middle) ** 2, 0) / Math.max(1, numbers.length - 1);
  return `${middle.toFixed(1)} ± ${Math.sqrt(variance / numbers.length).toFixed(1)}`;
};

/** Means over the seeds; gains over random texts with their standard errors. */
function summary(name: string, seeds: readonly Measured[]): object {
  const gains = (at: (rounds: readonly number[]) => number) =>
    withError(seeds.map(({ after }) => at(after.suggestTexts ?? []) - at(after.random ?? [])));
  const last = (rounds: readonly number[]) => rounds.at(-1) ?? Number.NaN;
  const meanOf = (of: (measured: Measured) => number) => mean(seeds.map(of)).toFixed(1);
  return {
    dataset: name,
    start: meanOf(({ start }) => start),
    'random, last': meanOf(({ after }) => last(after.random ?? [])),
    'suggestTexts, last': meanOf(({ after }) => last(after.suggestTexts ?? [])),
    'gain, last': gains(last),
    'gain, mean of the rounds': gains(mean),
  };
}

console.log(`${machine()}; ${values.pool} texts to choose from, ${values.test} to test, ${BATCH} a round`);
const table: object[] = [];
for (const name of names.length === 0 ? Object.keys(classificationSets) : names) {
  const { train: all, test } = classificationSets[name]?.read(folder) ?? { train: [], test: [] };
  const judged = Random.fromSeed(0).shuffle(test).slice(0, Number(values.test));
  const seeds: Measured[] = [];
  for (let seed = 1; seed <= Number(values.seeds); seed += 1) {
    seeds.push(await measure(split(Random.fromSeed(seed).shuffle(all), Number(values.pool)), judged, seed));
    console.log(JSON.stringify({ name, seed, ...seeds.at(-1) }));
  }
  table.push(summary(name, seeds));
}
console.table(table);
const { user, system } = process.cpuUsage();
console.log(`${Math.round((user + system) / 1e6)} s of processor time`);
