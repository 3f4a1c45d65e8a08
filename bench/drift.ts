import { parseArgs } from 'node:util';
import { z } from 'zod';
import type { Model, TrainOptions } from '../src/api/index.js';
import { train } from '../src/api/index.js';
import { unwrap } from '../src/contract/index.js';
import type { Drift } from '../src/drift/index.js';
import { Random } from '../src/system/index.js';
import { type LabelledTexts, readers } from './datasets/labelled-texts.js';
import { machine } from './report.js';

/**
 * How often `model.drift` gives an alarm: for texts of the source that a model was trained on, for such texts with 20 % of
 * another source among them, and for another source.
 * Usage: `npm run bench -- drift <folder of datasets> [--seeds 10] [--texts 500] [--rows 1500] [--sources banking77,…]`
 */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seeds: { type: 'string', default: '10' },
    texts: { type: 'string', default: '500' },
    rows: { type: 'string', default: '1500' },
    sources: { type: 'string', default: 'banking77,massive_en,ag_news,twitter_financial' },
    effort: { type: 'string', default: 'quick' },
  },
});
const [folder] = positionals;
if (folder === undefined) throw new Error('give the folder of datasets');
const whole = z.coerce.number().int().min(1);
const [seeds, texts, rows] = [values.seeds, values.texts, values.rows].map((each) => whole.parse(each));
const effort = z.enum(['quick', 'balanced']).parse(values.effort);
/** What is mixed into each source, or compared with it. */
const FOREIGN: Readonly<Record<string, string>> = { banking77: 'massive_en' };
const OTHER = 'banking77';
const SHARE = 0.2;

const sources = new Map(values.sources.split(',').map((name) => [name, read(name)]));

function read(name: string): LabelledTexts {
  const reader = readers[name];
  if (reader === undefined) throw new Error(`no dataset ${name}; there are ${Object.keys(readers).join(', ')}`);
  return reader(folder ?? '');
}

interface Row {
  readonly text: string;
  readonly labels: readonly string[];
}

function shuffled({ train, dev, test }: LabelledTexts, seed: number): Row[] {
  const distinct = new Map([...train, ...dev, ...test].map((row) => [row.text.trim(), row]));
  return Random.fromSeed(seed).shuffle([...distinct.values()].filter(({ text }) => text.trim() !== ''));
}

const textsOf = (some: readonly Row[]): string[] => some.map(({ text }) => text);

interface Compared {
  readonly source: string;
  readonly baseline: string;
  readonly texts: string;
  readonly drifts: Drift[];
}

const compared = new Map<string, Compared>();
function note(source: string, baseline: string, what: string, drift: Drift): void {
  const key = `${source} ${baseline} ${what}`;
  const found = compared.get(key) ?? { source, baseline, texts: what, drifts: [] };
  found.drifts.push(drift);
  compared.set(key, found);
}

async function trained(data: LabelledTexts, some: readonly Row[], seed: number): Promise<Model> {
  const isMultilabel = data.type === 'multilabel-text-classification';
  const options: TrainOptions = isMultilabel
    ? { rows: some.map(({ text, labels }) => ({ text, labels: [...labels] })) }
    : { rows: some.map(({ text, labels: [label = ''] }) => ({ text, label })) };
  const language = data.language === undefined ? {} : { language: data.language };
  return unwrap(train({ ...options, ...language, type: data.type, seed, effort }));
}

const seconds: number[] = [];
for (const [name, data] of sources) {
  for (let seed = 0; seed < (seeds ?? 1); seed += 1) {
    const own = shuffled(data, seed);
    const foreignName = FOREIGN[name] ?? OTHER;
    const foreign = textsOf(shuffled(sources.get(foreignName) ?? read(foreignName), seed));
    const some = texts ?? 500;
    await using model = await trained(data, own.slice(0, rows), seed);
    const rest = textsOf(own.slice(rows));
    const [others, usual] = [rest.slice(0, some), rest.slice(some, 2 * some)];
    const few = Math.round(SHARE * others.length);
    const mixed = [...others.slice(few), ...foreign.slice(0, few)];
    const ofTexts = await unwrap(model.baseline({ texts: usual, seed }));
    for (const [title, baseline] of [
      ['training', undefined],
      ['texts', ofTexts],
    ] as const) {
      const startedAt = performance.now();
      note(name, title, 'same source', await unwrap(model.drift(others, { seed, baseline })));
      seconds.push((performance.now() - startedAt) / 1000);
      note(name, title, `20 % ${foreignName}`, await unwrap(model.drift(mixed, { seed, baseline })));
      note(name, title, foreignName, await unwrap(model.drift(foreign.slice(0, some), { seed, baseline })));
    }
    process.stderr.write(`${name} seed ${seed}\n`);
  }
}

const NAMES = ['knownShare', 'length', 'labels', 'vectors'] as const;
const table = [...compared.values()].map(({ source, baseline, texts: what, drifts }) => {
  const alarms = drifts.filter(({ alarm }) => alarm).length;
  const byTest = NAMES.map((test) => {
    const found = drifts.flatMap(({ tests }) => tests.filter(({ name }) => name === test));
    return [test, found.length === 0 ? '-' : found.filter(({ adjusted }) => adjusted <= 0.05).length] as const;
  });
  return { source, baseline, texts: what, alarms: `${alarms} of ${drifts.length}`, ...Object.fromEntries(byTest) };
});
console.log(machine());
console.table(table);
console.log(`one comparison of ${texts} texts: ${(seconds.reduce((a, b) => a + b, 0) / seconds.length).toFixed(1)} s`);
