import { parseArgs } from 'node:util';
import { embed, suggestTexts, train } from 'orchard-nlp';
import { z } from 'zod';
import { centralTexts } from '../src/api/index.js';
import { type Example, foldsOf, logitsOf, trainOnFewRows } from '../src/families/index.js';
import { onnxExecutor } from '../src/graph/index.js';
import { Random, runToEnd } from '../src/system/index.js';
import { classificationSets, type LabelledText } from './few-shot/sets.js';
import { machine } from './report.js';

/**
 * Whether labelling what `suggestTexts` names helps more than labelling at random: trains on eight rows of each label, then
 * labels 20 texts at a time, trains again each time and asks the test rows.
 * Usage: `npm run bench -- labelling <datasets folder> [dataset …] [--seeds 5] [--rounds 5] [--pool 1000] [--test 1000]
 * [--vectors] [--effort quick]`; without names SST-2, MASSIVE, Banking77, six emotions and AG News. `--vectors` computes the
 * vectors of all texts once, with `embed`, and trains the linear layer of `train` on them, without its lexical expert, which
 * is much faster.
 */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seeds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '5' },
    effort: { type: 'string', default: 'quick' },
    vectors: { type: 'boolean', default: false },
    /** Unlabelled texts to choose from. */
    pool: { type: 'string', default: '1000' },
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
/** Rows of a dataset that all seeds draw from, so that few vectors are computed. */
const MOST_ROWS = 4000;

const effort = z.enum(['quick', 'balanced', 'thorough']).parse(values.effort);

interface Learned extends AsyncDisposable {
  /** In %. */
  accuracy(test: readonly LabelledText[]): Promise<number>;
  /** Positions of the texts to label next. */
  suggest(pool: readonly LabelledText[], seed: number): Promise<readonly number[]>;
}

const textsOf = (rows: readonly LabelledText[]) => rows.map(({ text }) => text);
const threads = Number(values.threads);

function accuracyOf(labels: readonly (string | undefined)[], test: readonly LabelledText[]): number {
  return (100 * labels.filter((label, at) => label === test[at]?.label).length) / test.length;
}

async function trained(rows: readonly LabelledText[], seed: number): Promise<Learned> {
  const model = (await train({ rows, seed, threads, effort, tuning: { quantize: false } }))._unsafeUnwrap();
  return {
    accuracy: async (test) => {
      const answers = (await model.predict(textsOf(test)))._unsafeUnwrap();
      const labels = answers.map(({ label }) => label);
      return accuracyOf(labels, test);
    },
    suggest: async (pool, at) => {
      const texts = await suggestTexts(model, textsOf(pool), { count: BATCH, seed: at });
      return texts._unsafeUnwrap().map(({ index }) => index);
    },
    [Symbol.asyncDispose]: () => model.close(),
  };
}

const known = new Map<string, Float32Array>();
async function vectorsOf(texts: readonly string[]): Promise<Float32Array[]> {
  const unknown = [...new Set(texts)].filter((text) => !known.has(text));
  if (unknown.length > 0) {
    for (const [at, vector] of (await embed(unknown))._unsafeUnwrap().entries()) known.set(unknown[at] ?? '', vector);
  }
  return texts.flatMap((text) => known.get(text) ?? []);
}

const executor = onnxExecutor({ threads });
/** The stronger, the surer the scores. */
const TEMPERATURES = [0.5, 0.7, 1, 1.4, 2, 2.8, 4, 5.6, 8, 11];

/** Softmax over logits times `factor`. */
function probabilities(logits: Float32Array, factor: number): number[] {
  const most = Math.max(...logits);
  const powers = Array.from(logits, (logit) => Math.exp(factor * (logit - most)));
  const sum = powers.reduce((all, each) => all + each, 0);
  return powers.map((each) => each / sum);
}

async function trainedOnVectors(rows: readonly LabelledText[], seed: number): Promise<Learned> {
  const labels = [...new Set(rows.map(({ label }) => label))].sort();
  const examplesOf = async (texts: readonly string[], labelOf: (at: number) => string | undefined) =>
    (await vectorsOf(texts)).map((state, at): Example => {
      return { text: '', state, labelIds: [labels.indexOf(labelOf(at) ?? '')] }; // no text: the lexical expert learns nothing
    });
  const examples = await examplesOf(textsOf(rows), (at) => rows[at]?.label);
  const spelt = labels.map((label) => label.replace(/[_/]/g, ' '));
  const names = await examplesOf(spelt, (at) => labels[at]);
  const pick = (places: readonly number[]) => places.flatMap((at) => examples[at] ?? []);
  const folds = foldsOf(
    examples.map(({ labelIds }) => labelIds[0]),
    seed,
    4,
  );
  const splits = folds.map((fold) => ({ train: pick(fold.train), names, judged: pick(fold.judged) }));
  const isMany = labels.length > 12;
  const { layer, judged } = await trainOnFewRows(
    { kind: 'multiclass', labels },
    { train: examples, names, splits },
    {
      ...{ executor, seed, lowercase: true, language: 'english', balanced: false },
      choices: { inverseRegularization: isMany ? 3 : 1, labelNames: isMany ? 1 : 4 },
      signal: new AbortController().signal,
    },
  );
  const lossAt = (factor: number) =>
    judged.rows.reduce((sum, { labelIds: [label = 0] }, row) => {
      const logits = judged.encoder.subarray(row * labels.length, (row + 1) * labels.length);
      return sum - Math.log(Math.max(1e-12, probabilities(logits, factor)[label] ?? 0));
    }, 0);
  const [factor = 1] = [...TEMPERATURES].sort((a, b) => lossAt(a) - lossAt(b));
  return {
    accuracy: async (test) => {
      const found = (await vectorsOf(textsOf(test))).map((vector) => {
        const logits = logitsOf(layer, vector);
        return labels[logits.indexOf(Math.max(...logits))];
      });
      return accuracyOf(found, test);
    },
    suggest: async (pool, at) => {
      const vectors = await vectorsOf(textsOf(pool));
      const uncertainties = vectors.map((vector) => {
        const [first = 1, second = 0] = probabilities(logitsOf(layer, vector), factor).sort((a, b) => b - a);
        return 1 - (first - second);
      });
      return runToEnd(centralTexts(vectors, uncertainties, BATCH, Random.fromSeed(at)));
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

const learn = values.vectors ? trainedOnVectors : trained;

type Choice = (model: Learned, pool: readonly LabelledText[], seed: number) => Promise<readonly number[]>;

const choices: Readonly<Record<string, Choice>> = {
  random: async (_model, pool, seed) => Random.fromSeed(seed, 77).shuffle(pool.keys()).slice(0, BATCH),
  suggestTexts: (model, pool, seed) => model.suggest(pool, seed),
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
      await using model = await learn(rows, seed);
      reached.push(await model.accuracy(test));
      if (round === Number(values.rounds)) break;
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
  const { train: given, test } = classificationSets[name]?.read(folder) ?? { train: [], test: [] };
  const judged = Random.fromSeed(0).shuffle(test).slice(0, Number(values.test));
  const all = Random.fromSeed(0).shuffle(given).slice(0, MOST_ROWS);
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
