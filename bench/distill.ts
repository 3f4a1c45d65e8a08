import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  type DistillOptions,
  distill,
  type EntityRow,
  type LabelAnswer,
  loadModel,
  type Model,
  type TaggedRow,
  type TeacherFunction,
  type TrainingRow,
  train,
} from 'orchard-nlp';
import { z } from 'zod';
import { readMovieReviews } from '../models/recipes/catalogue/datasets/reviews.js';
import { reviewSentences } from '../models/recipes/catalogue/datasets/sentences.js';
import { Random } from '../src/system/index.js';
import { readers } from './datasets/labelled-texts.js';
import { taggedReaders } from './datasets/tagged-sentences.js';
import { classificationSets, type LabelledText, shuffled } from './few-shot/sets.js';
import { machine } from './report.js';

/**
 * `distill`, on the training texts of labelled sets without their labels. Each figure is on test rows: how often the student
 * says what its teacher says, and how often what the row says.
 * - `targets`: what the student learns of the same answers: the teacher's probabilities, at several temperatures; its most
 *   probable label; or a label drawn from its probabilities.
 * - `choice`: which of the texts are asked, central ones or random ones.
 * - `entities`: what the student learns of the same teacher of entities: its spans, or its probabilities of tags. The
 *   agreement is the F1 of the student's entities with the teacher's; the sets are those of named entities.
 * - `path`: a user's path, on SST-2: a teacher trained on all of its rows answers sentences of film reviews; size and time of
 *   both models, too. The student learns from the answers alone, and from the rows as well.
 *
 * Usage: `npm run bench -- distill <datasets folder> [dataset …] [--part targets|choice|entities|path] [--teacher <folder>]
 * [--texts 2000] [--budget 500] [--test 1000] [--seeds 1] [--threads 2] [--teacher-rows 2000] [--teacher-base <folder>]
 * [--effort balanced] [--epochs <number>] [--temperatures 1,2,4]`; without names SST-2, or WikiANN and BTC. Without
 * `--teacher`, a model teaches that is trained on `--teacher-rows` rows, whose texts are not among the others: the base
 * backbone, a mini one with `--teacher-size mini`, or the encoder in the folder `--teacher-base`. `--save <folder>` keeps it.
 */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    part: { type: 'string', default: 'targets' },
    teacher: { type: 'string' },
    'teacher-rows': { type: 'string', default: '2000' },
    'teacher-size': { type: 'string', default: 'base' },
    'teacher-base': { type: 'string' },
    save: { type: 'string' },
    texts: { type: 'string', default: '2000' },
    budget: { type: 'string', default: '500' },
    test: { type: 'string', default: '1000' },
    seeds: { type: 'string', default: '1' },
    threads: { type: 'string', default: '2' },
    effort: { type: 'string', default: 'balanced' },
    epochs: { type: 'string' },
    temperatures: { type: 'string', default: '1,2,4' },
  },
});
const [root, ...names] = positionals;
if (root === undefined) throw new Error('usage: npm run bench -- distill <datasets folder> [dataset …]');
if (values.part === 'path' && names.some((name) => name !== 'sst2')) throw new Error('the path is on sst2');
const threads = Number(values.threads);
const epochs = values.epochs === undefined ? undefined : Number(values.epochs);
const effort = z.enum(['quick', 'balanced', 'thorough']).parse(values.effort);
const work = await mkdtemp(join(tmpdir(), 'orchard-distill-'));

const percent = (share: number) => (100 * share).toFixed(1);
const share = (flags: readonly boolean[]) => flags.filter(Boolean).length / flags.length;
const mean = (list: readonly number[]) => list.reduce((sum, each) => sum + each, 0) / list.length;

interface Teaching {
  readonly teacher: Model;
  readonly rows: readonly LabelledText[];
  readonly texts: readonly string[];
  readonly test: readonly LabelledText[];
  /** Of each test row. */
  readonly taught: readonly LabelAnswer[];
}

async function answers(model: Model, texts: readonly string[]): Promise<readonly LabelAnswer[]> {
  const given = (await model.predict(texts))._unsafeUnwrap();
  return given.flatMap((answer) => (answer.kind === 'labels' ? [answer] : []));
}

/** Trains a student, and compares it with its teacher and the rows. */
async function student(
  options: Partial<DistillOptions> & Pick<DistillOptions, 'teacher'>,
  { texts, test, taught }: Teaching,
) {
  const startedAt = performance.now();
  await using model = (await distill({ texts, threads, effort, epochs, ...options }))._unsafeUnwrap();
  const seconds = (performance.now() - startedAt) / 1000;
  const own = await answers(
    model,
    test.map(({ text }) => text),
  );
  return {
    agreement: share(own.map(({ label }, at) => label === taught[at]?.label)),
    accuracy: share(own.map(({ label }, at) => label === test[at]?.label)),
    seconds,
    distillation: model.distillation,
  };
}

/** A teacher that answers with what `choose` makes of a model's probabilities. */
function answering({ teacher, texts }: Teaching, choose: (answer: LabelAnswer) => string) {
  const chosen = new Map<string, string>();
  const ask: TeacherFunction = async (some) => {
    if (chosen.size === 0) {
      for (const [at, answer] of (await answers(teacher, texts)).entries()) chosen.set(texts[at] ?? '', choose(answer));
    }
    return some.map((text) => chosen.get(text) ?? null);
  };
  const { labels, type } = teacher;
  return { teacher: ask, labels, type, answers: join(work, `${Math.random()}.jsonl`) };
}

function drawn({ scores }: LabelAnswer, random: Random): string {
  let left = random.uniform() * scores.reduce((sum, { score }) => sum + score, 0);
  for (const { label, score } of scores) {
    left -= score;
    if (left < 0) return label;
  }
  return scores[0]?.label ?? '';
}

type Way = readonly [
  name: string,
  options: (seed: number) => Partial<DistillOptions> & Pick<DistillOptions, 'teacher'>,
];

function waysOf(teaching: Teaching): readonly Way[] {
  const { teacher } = teaching;
  if (values.part === 'choice') {
    const maxTexts = Number(values.budget);
    return (['random', 'central'] as const).map((choose) => [choose, (seed) => ({ teacher, choose, maxTexts, seed })]);
  }
  if (values.part === 'path') {
    const { test, rows } = teaching;
    return [
      ['answers', (seed) => ({ teacher, seed, test })],
      ['answers and rows', (seed) => ({ teacher, seed, test, rows })],
    ];
  }
  return [
    ...values.temperatures
      .split(',')
      .map(Number)
      .map((temperature): Way => [`soft, T = ${temperature}`, (seed) => ({ teacher, temperature, seed })]),
    ['most probable label', (seed) => ({ ...answering(teaching, ({ label }) => label), seed })],
    [
      'drawn label',
      (seed) => {
        const random = Random.fromSeed(seed);
        return { ...answering(teaching, (answer) => drawn(answer, random)), seed };
      },
    ],
  ];
}

/** Sentences of film reviews, without their labels, in random order. */
async function reviewTexts(folder: string): Promise<string[]> {
  const { imdb } = readers;
  const reviews = [...(await readMovieReviews(folder)), ...(imdb?.(folder).train ?? [])];
  return shuffled([...new Set(reviewSentences(reviews))], 1);
}

async function teacherOf(rows: readonly (LabelledText | TaggedRow)[]): Promise<Model> {
  if (values.teacher !== undefined) return (await loadModel(values.teacher))._unsafeUnwrap();
  const { save: output, 'teacher-base': base } = values;
  const size = values['teacher-size'] === 'mini' ? 'mini' : 'base';
  const startedAt = performance.now();
  const teacher = (await train({ rows, threads, output, ...(base ? { base } : { size }) }))._unsafeUnwrap();
  console.log(`teacher trained on ${rows.length} rows in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
  return teacher;
}

console.log(machine());
try {
  if (values.part === 'entities') {
    for (const name of names.length > 0 ? names : ['wikiann_en', 'ner_btc']) await measureEntities(root, name);
  } else for (const name of names.length > 0 ? names : ['sst2']) await measure(root, name);
} finally {
  await rm(work, { recursive: true, force: true });
}

async function measure(folder: string, name: string): Promise<void> {
  const set = classificationSets[name];
  if (set === undefined) throw new Error(`there is no set ${name}, only ${Object.keys(classificationSets).join(', ')}`);
  const { train: all, test: tests } = set.read(folder);
  const rows = shuffled(all, 1);
  const isPath = values.part === 'path';
  const taughtRows = isPath ? rows.length : values.teacher === undefined ? Number(values['teacher-rows']) : 0;
  await using teacher = await teacherOf(rows.slice(0, taughtRows));
  const unlabelled = isPath ? await reviewTexts(folder) : rows.slice(taughtRows).map(({ text }) => text);
  const tested = new Set(tests.map(({ text }) => text));
  const texts = unlabelled.filter((text) => !tested.has(text)).slice(0, Number(values.texts));
  const test = shuffled(tests, 2).slice(0, Number(values.test));
  const taught = await answers(
    teacher,
    test.map(({ text }) => text),
  );
  const accuracy = share(taught.map(({ label }, at) => label === test[at]?.label));
  console.log(`\n${name}: ${texts.length} texts; teacher's accuracy ${percent(accuracy)} on ${test.length} rows`);
  const teaching = { teacher, rows, texts, test, taught };
  for (const [way, options] of waysOf(teaching)) {
    const runs: Awaited<ReturnType<typeof student>>[] = [];
    for (let seed = 0; seed < Number(values.seeds); seed += 1) runs.push(await student(options(seed), teaching));
    const figures = [
      `agreement ${percent(mean(runs.map((run) => run.agreement)))}`,
      `accuracy ${percent(mean(runs.map((run) => run.accuracy)))}`,
      `${mean(runs.map(({ seconds }) => seconds)).toFixed(0)} s`,
    ];
    console.log(`${way.padEnd(20)} ${figures.join(', ')}`);
    if (values.part === 'path') for (const { distillation } of runs) console.log(costs(distillation.cost));
  }
}

async function measureEntities(folder: string, name: string): Promise<void> {
  const read = taggedReaders[name];
  if (read === undefined) throw new Error(`there is no set ${name}, only ${Object.keys(taggedReaders).join(', ')}`);
  const set = read(folder);
  const rows = shuffled(
    set.train.map(({ words, tags }) => ({ tokens: words, tags })),
    1,
  );
  const taughtRows = values.teacher === undefined ? Number(values['teacher-rows']) : 0;
  await using teacher = await teacherOf(rows.slice(0, taughtRows));
  const texts = rows.slice(taughtRows, taughtRows + Number(values.texts)).map(({ tokens }) => tokens.join(' '));
  const test = shuffled(
    set.test.map(({ words, tags }) => ({ tokens: words, tags })),
    2,
  ).slice(0, Number(values.test));
  const asked = test.map(({ tokens }) => tokens.join(' '));
  const taught = await entitiesOf(teacher, asked);
  const f1 = await f1Of(teacher, test);
  console.log(`\n${name}: ${texts.length} texts; teacher's F1 ${percent(f1)} on ${test.length} rows`);
  const spans: TeacherFunction = (some) => entitiesOf(teacher, some).then((all) => all.map(({ entities }) => entities));
  const { type } = teacher;
  const ways: readonly Way[] = [
    ['spans', (seed) => ({ teacher: spans, type, seed, answers: join(work, `${name} ${seed}.jsonl`) })],
    ...[1, 2].map((temperature): Way => [`tags, T = ${temperature}`, (seed) => ({ teacher, temperature, seed })]),
  ];
  for (const [way, options] of ways) {
    const runs: { readonly agreement: number; readonly f1: number; readonly seconds: number }[] = [];
    for (let seed = 0; seed < Number(values.seeds); seed += 1) {
      const startedAt = performance.now();
      await using model = (await distill({ texts, threads, effort, ...options(seed) }))._unsafeUnwrap();
      const seconds = (performance.now() - startedAt) / 1000;
      runs.push({ agreement: await f1Of(model, taught), f1: await f1Of(model, test), seconds });
    }
    const figures = [
      `agreement ${percent(mean(runs.map((run) => run.agreement)))}`,
      `F1 ${percent(mean(runs.map((run) => run.f1)))}`,
      `${mean(runs.map((run) => run.seconds)).toFixed(0)} s`,
    ];
    console.log(`${way.padEnd(20)} ${figures.join(', ')}`);
  }
}

async function entitiesOf(model: Model, texts: readonly string[]): Promise<EntityRow[]> {
  const given = (await model.predict(texts))._unsafeUnwrap();
  return given.map((answer, at) => {
    const entities = answer.kind === 'entities' ? answer.entities : [];
    return { text: texts[at] ?? '', entities: entities.map(({ start, end, type }) => ({ start, end, type })) };
  });
}

async function f1Of(model: Model, rows: readonly TrainingRow[]): Promise<number> {
  const evaluation = (await model.evaluate(rows))._unsafeUnwrap();
  return evaluation.kind === 'entities' ? evaluation.micro.f1 : 0;
}

function costs({ teacher, student: own }: { readonly teacher: Cost; readonly student: Cost }): string {
  const { bytes: large = 0, millisecondsPerText: slow = 0 } = teacher;
  const { bytes: small = 1, millisecondsPerText: fast = 1 } = own;
  const size = `${(large / 1e6).toFixed(1)} MB to ${(small / 1e6).toFixed(1)} MB: ${(large / small).toFixed(1)} times smaller`;
  return `${size}; ${slow.toFixed(2)} ms to ${fast.toFixed(2)} ms a text: ${(slow / fast).toFixed(1)} times faster`;
}

interface Cost {
  readonly bytes?: number;
  readonly millisecondsPerText?: number;
}
