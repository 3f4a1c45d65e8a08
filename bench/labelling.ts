import { parseArgs } from 'node:util';
import { type LabelAnswer, suggestTexts, type TrainedModel, train } from 'orchard-nlp';
import { Random } from '../src/system/index.js';
import { type Row, readers } from './datasets/labelled-texts.js';
import { machine } from './report.js';

/**
 * Whether labelling what `suggestTexts` names helps more than labelling at random: trains on some texts with labels, adds as
 * many again in three ways, trains again and asks the test rows. "Least sure" takes those with the smallest margins alone.
 * Usage: `npm run bench -- labelling <datasets folder> [dataset …] [--seeds 3] [--pool 1000] [--test 1000]`; without names Banking77 and SST-2.
 */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seeds: { type: 'string', default: '3' },
    /** Unlabelled texts to choose from. */
    pool: { type: 'string', default: '1000' },
    /** Test rows, drawn at random. */
    test: { type: 'string', default: '1000' },
    threads: { type: 'string', default: '1' },
  },
});
const [folder, ...names] = positionals;
if (folder === undefined) throw new Error('usage: npm run bench -- labelling <datasets folder> [dataset …]');

/** Labels to begin with, and as many to add, by dataset. */
const BATCH: Readonly<Record<string, number>> = { banking77: 150, massive_en: 150, sst2: 50 };
const DEFAULT_BATCH = 100;

interface LabelledText {
  readonly text: string;
  readonly label: string;
}

const labelled = ({ text, labels: [label = ''] }: Row): LabelledText => ({ text, label });

async function trained(rows: readonly LabelledText[], seed: number): Promise<TrainedModel<LabelAnswer>> {
  const made = await train({
    ...{ rows, seed, threads: Number(values.threads), tuning: { quantize: false } },
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
  pool: readonly string[],
  count: number,
  seed: number,
) => Promise<number[]>;

const choices: Readonly<Record<string, Choice>> = {
  random: async (_model, pool, count, seed) => Random.fromSeed(seed, 77).shuffle(pool.keys()).slice(0, count),
  'least sure': async (model, pool, count) => {
    const answers = (await model.predict(pool))._unsafeUnwrap();
    const unsure = answers.map(({ scores: [first, second] }, at) => ({
      at,
      uncertainty: (second?.score ?? 0) - (first?.score ?? 0),
    }));
    return unsure
      .sort((a, b) => b.uncertainty - a.uncertainty)
      .slice(0, count)
      .map(({ at }) => at);
  },
  suggestTexts: async (model, pool, count, seed) =>
    (await suggestTexts(model, pool, { count, seed }))._unsafeUnwrap().map(({ index }) => index),
};

async function measure(name: string, root: string, seed: number): Promise<object> {
  const { train: all, test } = readers[name]?.(root) ?? { train: [], test: [] };
  const batch = BATCH[name] ?? DEFAULT_BATCH;
  const drawn = Random.fromSeed(seed)
    .shuffle(all)
    .slice(0, batch + Number(values.pool))
    .map(labelled);
  const [first, pool] = [drawn.slice(0, batch), drawn.slice(batch)];
  const judged = Random.fromSeed(0).shuffle(test).slice(0, Number(values.test)).map(labelled);
  await using model = await trained(first, seed);
  const figures: Record<string, number | string> = { dataset: name, seed };
  figures[`${batch} at random`] = await accuracyOf(model, judged);
  for (const [kind, choose] of Object.entries(choices)) {
    const picked = await choose(
      model,
      pool.map(({ text }) => text),
      batch,
      seed,
    );
    await using next = await trained([...first, ...picked.flatMap((at) => pool.slice(at, at + 1))], seed);
    figures[`+ ${batch} ${kind}`] = await accuracyOf(next, judged);
  }
  return figures;
}

console.log(`${machine()}; ${values.pool} texts to choose from, ${values.test} to test`);
const table: object[] = [];
for (let seed = 1; seed <= Number(values.seeds); seed += 1) {
  for (const name of names.length === 0 ? ['banking77', 'sst2'] : names) {
    table.push(await measure(name, folder, seed));
    console.log(JSON.stringify(table.at(-1)));
  }
}
console.table(table);
const { user, system } = process.cpuUsage();
console.log(`${Math.round((user + system) / 1e6)} s of processor time`);
