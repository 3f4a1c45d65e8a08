import { parseArgs } from 'node:util';
import { train } from 'orchard-nlp';
import { z } from 'zod';
import type { LabelAnswer, Model } from '../src/api/index.js';
import { orThrow } from '../src/contract/index.js';
import {
  type Baseline,
  compare,
  type Drift,
  labelCounts,
  logLength,
  makeBaseline,
  NGramFilter,
  PROBE_TEXT,
} from '../src/drift/index.js';
import { SentenceEncoder } from '../src/search/index.js';
import { Random, runToEnd } from '../src/system/index.js';
import { type LabelledTexts, type Row, readers } from './datasets/labelled-texts.js';
import { machine } from './report.js';

/**
 * How often `model.drift` gives an alarm: for texts of the source that a model was trained on, for such texts with 20 % of
 * another source among them, and for another source. One model of each source is trained with `effort: 'quick'`, and asked
 * once about all texts. Each seed draws others of them, and compares them with the baseline from training and with one
 * of texts.
 * Usage: `npm run bench -- drift <datasets folder> [dataset …] [--seeds 10] [--rows 500] [--texts 500]`; without names
 * Banking77, MASSIVE, AG News and Twitter financial.
 */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    /** Draws of texts. */
    seeds: { type: 'string', default: '10' },
    /** Rows that a model is trained on. */
    rows: { type: 'string', default: '500' },
    /** Texts that are compared, and those of the second baseline. */
    texts: { type: 'string', default: '500' },
  },
});
const [folder = '', ...named] = positionals;
if (folder === '') throw new Error('usage: npm run bench -- drift <datasets folder> [dataset …]');
const { seeds, rows, texts } = z.record(z.string(), z.coerce.number().int().min(1)).parse(values);
const [SEEDS, ROWS, TEXTS] = [seeds ?? 10, rows ?? 500, texts ?? 500];
const names = named.length > 0 ? named : ['banking77', 'massive_en', 'ag_news', 'twitter_financial'];
const FOREIGN_SHARE = 0.2;

/** What is mixed into a source, and compared with it. */
const foreignOf = (name: string): string => (name === 'banking77' ? 'massive_en' : 'banking77');

interface AskedText {
  readonly text: string;
  readonly labels: readonly string[];
  readonly vector: Float32Array;
}

function distinctRows(name: string): Row[] {
  const reader = readers[name];
  if (reader === undefined) throw new Error(`no dataset ${name}; there are ${Object.keys(readers).join(', ')}`);
  const { train, dev, test }: LabelledTexts = reader(folder);
  const distinct = new Map([...train, ...dev, ...test].map((row) => [row.text.trim(), row]));
  return [...distinct.values()].filter(({ text }) => text.trim() !== '');
}

/** Texts of a source that the seeds draw from. */
const MOST_TEXTS = 2000;

async function vectorsOf(model: Model, given: readonly string[]): Promise<readonly Float32Array[]> {
  const encoder = await SentenceEncoder.ofModel(model, { service: {} });
  return encoder.vectors(given).finally(() => encoder.close());
}

async function askedTexts(model: Model<LabelAnswer>, given: readonly string[]): Promise<AskedText[]> {
  const vectors = await vectorsOf(model, given);
  const answers = await orThrow(model.predict(given));
  return given.map((text, at) => {
    return { text, labels: answers[at]?.labels ?? [], vector: vectors[at] ?? new Float32Array() };
  });
}

function compared(baseline: Baseline, given: readonly AskedText[], model: Model, seed: number): Drift {
  const filter = NGramFilter.decode(baseline.known);
  const sample = {
    knownShares: given.map(({ text }) => filter.share(text)),
    logLengths: given.map(({ text }) => logLength(text)),
    labels: labelCounts(model.labels, given),
    vectors: given.map(({ vector }) => vector),
  };
  return runToEnd(compare(baseline, sample, seed));
}

const costs: Record<string, string>[] = [];

/** What each part takes, from the first model of a source. */
async function measure(source: string, model: Model, given: readonly string[], baseline: Baseline): Promise<void> {
  const timed = async (work: () => unknown) => {
    const startedAt = performance.now();
    await work();
    return performance.now() - startedAt;
  };
  const filter = NGramFilter.decode(baseline.known);
  const shares = await timed(() => given.map((text) => filter.share(text)));
  const answers = await timed(() => orThrow(model.predict(given)));
  const vectors = await timed(() => vectorsOf(model, given));
  costs.push({
    source,
    'known n-grams': `${((1000 * shares) / given.length).toFixed(0)} µs per text`,
    answer: `${(answers / given.length).toFixed(2)} ms per text`,
    vector: `${(vectors / given.length).toFixed(2)} ms per text`,
    'model.drift': `${((await timed(() => orThrow(model.drift(given)))) / 1000).toFixed(1)} s`,
    'size of the baseline': `${Math.round(JSON.stringify(baseline).length / 1000)} kB`,
  });
}

const TESTS = ['knownShare', 'length', 'labels', 'vectors'] as const;
const table: Record<string, string | number>[] = [];

function report(source: string, baseline: string, what: string, drifts: readonly Drift[]): void {
  const alarms = drifts.filter(({ alarm }) => alarm).length;
  const byTest = TESTS.map((test): [string, number] => [
    test,
    drifts.filter(({ tests }) => tests.some(({ name, adjusted }) => name === test && adjusted <= 0.05)).length,
  ]);
  table.push({ source, baseline, texts: what, alarms: `${alarms} of ${drifts.length}`, ...Object.fromEntries(byTest) });
}

const textsIn = (rows: readonly Row[]): string[] => rows.map(({ text }) => text);

for (const name of names) {
  const shuffled = Random.fromSeed(0).shuffle(distinctRows(name));
  const learned = shuffled.slice(0, ROWS).map(({ text, labels: [label = ''] }) => ({ text, label }));
  await using model: Model<LabelAnswer> = await orThrow(train({ rows: learned, effort: 'quick' }));
  const kept = await orThrow(model.baseline());
  const own = await askedTexts(model, textsIn(shuffled.slice(ROWS, ROWS + MOST_TEXTS)));
  const strange = Random.fromSeed(0)
    .shuffle(distinctRows(foreignOf(name)))
    .slice(0, MOST_TEXTS / 2);
  const foreign = await askedTexts(model, textsIn(strange));
  const [probe = new Float32Array()] = await vectorsOf(model, [PROBE_TEXT]);
  if (own.length < 2 * TEXTS || foreign.length < TEXTS) throw new Error(`${name} has too few texts`);
  await measure(
    name,
    model,
    own.slice(0, TEXTS).map(({ text }) => text),
    kept,
  );
  const drifts = new Map<string, Drift[]>();
  for (let seed = 0; seed < SEEDS; seed += 1) {
    const drawn = Random.fromSeed(seed).shuffle(own);
    const [usual, fresh] = [drawn.slice(0, TEXTS), drawn.slice(TEXTS, 2 * TEXTS)];
    const odd = Random.fromSeed(seed).shuffle(foreign).slice(0, TEXTS);
    const few = Math.round(FOREIGN_SHARE * TEXTS);
    const mixed = [...fresh.slice(few), ...odd.slice(0, few)];
    const some = usual.map(({ vector }) => vector);
    const input = { origin: 'texts', known: usual.map(({ text }) => text), texts: usual } as const;
    const ofTexts = runToEnd(makeBaseline({ ...input, labels: model.labels, vectors: { some, probe } }, seed));
    for (const [which, baseline] of [
      ['of the training', kept],
      ['of texts', ofTexts],
    ] as const) {
      for (const [what, given] of [
        ['the same source', fresh],
        [`20 % ${foreignOf(name)}`, mixed],
        [foreignOf(name), odd],
      ] as const) {
        const key = `${which}\n${what}`;
        drifts.set(key, [...(drifts.get(key) ?? []), compared(baseline, given, model, seed)]);
      }
    }
    const latest = [...drifts.values()].map((all) => (all.at(-1)?.alarm ? 'alarm' : '-'));
    process.stderr.write(`${name} ${seed + 1} of ${SEEDS}: ${latest.join(' ')}\n`);
  }
  for (const [key, found] of drifts) {
    const [which = '', what = ''] = key.split('\n');
    report(name, which, what, found);
  }
}
console.log(machine());
console.table(table);
if (costs.length > 0) console.table(costs);
