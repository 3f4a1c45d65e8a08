import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { exportModel } from '../../../models/recipes/catalogue/export-model.js';
import { readFacts, trainingDataSchema } from '../../../models/recipes/catalogue/model-facts.js';
import { namedEntityRecognition } from '../../../models/recipes/catalogue/models/named-entity-recognition.js';
import type { ClassifierRecipe } from '../../../models/recipes/catalogue/recipe.js';
import {
  recordedTeacher,
  requireClassifier,
  writeForTeacher,
} from '../../../models/recipes/catalogue/recorded-answers.js';
import { asTrained, givenTo, teach, withoutTeacher } from '../../../models/recipes/catalogue/teach.js';
import { taughtFolder, trainedFolder } from '../../../models/recipes/catalogue/train.js';
import { usageTerms, withFreeData } from '../../../models/recipes/catalogue/usage-terms.js';
import { writeTeacher } from '../../support/tiny-teacher.js';

/** Texts that get their labels from a larger model. */

const things = ['lamp', 'phone', 'room', 'driver', 'film', 'book', 'chair', 'clock', 'table', 'door'];
const judged = (verdict: string, label: string) =>
  things.map((thing) => ({ text: `the ${thing} ${verdict}`, labels: [label] }));
const others = ['radio', 'pencil', 'window', 'bottle', 'carpet', 'camera'];
const measured = 'the bottle is bad';

const recipe: ClassifierRecipe = {
  name: 'customer-review',
  job: 'small-classifier',
  family: 'Papaya',
  type: 'binary-text-classification',
  labels: ['positive', 'negative'],
  language: 'english',
  does: 'It is small.',
  example: 'the lamp is good',
  weaknesses: ['It knows a few things.'],
  training: { num_epochs: 1 },
  sources: [
    {
      title: 'Verdicts',
      licence: 'CC0',
      read: () => ({
        train: [...judged('is good', 'positive'), ...judged('is bad', 'negative')],
        dev: judged('is fine', 'positive'),
      }),
    },
  ],
  unlabelled: [
    {
      title: 'Talk',
      licence: 'CC BY 4.0',
      most: 100,
      read: () => others.flatMap((thing) => [`the ${thing} is bad`, `the ${thing} is good`, `the ${thing} is good`]),
    },
    {
      title: 'Gossip',
      licence: 'none stated',
      restricted: 'no licence is stated where it was found',
      most: 2,
      read: () => others.map((thing) => `a ${thing} is bad`),
    },
  ],
  tests: [{ title: 'One verdict', read: () => [{ text: measured, labels: ['negative'] }] }],
};

let root: string;
let options: Parameters<typeof teach>[1];
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'orchard-test-'));
  const teacher = join(root, 'some-teacher');
  writeTeacher(teacher);
  const work = join(root, 'work');
  options = {
    datasets: root,
    work,
    threads: 1,
    device: 'cpu',
    seed: 1,
    teacher,
    backbone: teacher,
    log: () => undefined,
  };
  await teach(recipe, options);
});
afterAll(() => rmSync(root, { recursive: true }));

describe('a recipe with texts that a teacher answers', () => {
  it('asks about each text once, about no more of a source than its recipe says, and about none of a test', () => {
    const [, ...lines] = readFileSync(`${taughtFolder(options.work, recipe)}.answers.jsonl`, 'utf8')
      .trim()
      .split('\n');
    const asked = lines.map((line) => z.object({ text: z.string() }).parse(JSON.parse(line)).text);
    const talk = others.flatMap((thing) => [`the ${thing} is bad`, `the ${thing} is good`]);
    const ofThings = (text: string) => things.some((thing) => text.includes(thing));
    const texts = asked.filter((text) => !ofThings(text));
    expect(texts.filter((text) => text.startsWith('the')).sort()).toEqual(
      talk.filter((text) => text !== measured).sort(),
    );
    expect(texts.filter((text) => text.startsWith('a'))).toHaveLength(2);
  });

  it('is trained on the answers, too, and its card says whose they are', async () => {
    await exportModel(recipe, { ...options, catalogue: join(root, 'catalogue') });
    const folder = join(root, 'catalogue', recipe.name);
    const data = await readFacts(folder, 'data.json', trainingDataSchema);
    expect(data?.sources.map(({ title, train, leaks }) => ({ title, train, leaks }))).toEqual([
      { title: 'Verdicts', train: 20, leaks: 0 },
      { title: 'Talk', train: 11, leaks: 1 },
      { title: 'Gossip', train: 2, leaks: 0 },
    ]);
    // Of 20 rows, 2 are set aside for figures; 13 texts were answered.
    expect(data).toMatchObject({ train: 18 + 13, dev: 10, duplicates: 0 });
    const card = await readFile(join(folder, 'README.md'), 'utf8');
    expect(card).toContain('Talk; without labels; some-teacher, fine-tuned on the rows above, labelled them');
    expect(card).toContain('teach customer-review --datasets <folder> --work <folder>`, taught by some-teacher');
    expect(card).toContain(
      'The remaining 2 rows were set aside to compare the model with its teacher, or left out because they repeat other rows.',
    );
    expect(card).toContain('Gossip: no licence is stated where it was found');
  });

  it('has to be taught first, unless it goes without them', async () => {
    await expect(trainedFolder(recipe, join(root, 'elsewhere'))).rejects.toThrow('run teach first, or add --untaught');
    await expect(trainedFolder(withoutTeacher(recipe), options.work)).rejects.toThrow('not trained in');
  });

  it('may be used for money only without those that forbid it', () => {
    expect(usageTerms(recipe)?.reasons).toEqual(['Gossip: no licence is stated where it was found']);
    expect(usageTerms(withFreeData(recipe))).toBeUndefined();
  });
});

describe('a teacher on another machine', () => {
  const lines = (folder: string, file: string) =>
    readFileSync(join(folder, file), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));

  /** A file of answers that say that everything is probably good. */
  async function answersTo(given: Awaited<ReturnType<typeof givenTo>>, changes: object = {}): Promise<string> {
    const folder = join(root, 'for-teacher');
    await writeForTeacher(recipe, given, { folder, datasets: root });
    const task = JSON.parse(readFileSync(join(folder, 'task.json'), 'utf8'));
    const probably = (count: number) => Array.from({ length: count }, () => [250, 750]);
    const [rows, texts] = [probably(given.rows.train.length), probably(given.texts.length)];
    const content = { teacher: 'large', labels: ['negative', 'positive'], given: task.given, rows, texts, ...changes };
    const path = join(root, 'answers.json.gz');
    writeFileSync(path, gzipSync(JSON.stringify(content)));
    return path;
  }

  it('gets the rows, the texts and the test as files', async () => {
    await answersTo(await givenTo(recipe, options));
    const folder = join(root, 'for-teacher');
    expect(lines(folder, 'rows.jsonl')).toHaveLength(20);
    expect(lines(folder, 'rows.jsonl')[0]).toEqual({ text: 'the lamp is good', label: 'positive' });
    expect(lines(folder, 'dev.jsonl')).toHaveLength(10);
    expect(lines(folder, 'texts.jsonl')).toHaveLength(13);
    expect(lines(folder, 'texts.jsonl')).not.toContain(measured);
    expect(lines(folder, 'test.jsonl')).toEqual([{ text: measured, labels: ['negative'] }]);
  });

  it('changes the label of each row by half where the recipe says so', async () => {
    const given = await givenTo(recipe, options);
    const answers = await answersTo(given);
    const found = await recordedTeacher({ ...recipe, mixesLabels: true }, answers, { ...given, seed: 1 });
    expect(found.rows.train[0]).toEqual({ text: 'the lamp is good', labels: { positive: 0.875, negative: 0.125 } });
    expect(found.rows.dev).toBe(given.rows.dev);
    expect(found.mixedLabels).toBe('held-out');
  });

  it('answers texts, and rows that are set aside', async () => {
    const given = await givenTo(recipe, options);
    const found = await recordedTeacher(recipe, await answersTo(given), { ...given, seed: 1 });
    expect(found.rows.train).toEqual(given.rows.train);
    expect([...found.texts]).toEqual(given.texts);
    expect(found.ask([given.texts[0] ?? '', 'the lamp is good', 'another'])).toEqual([
      { negative: 0.25, positive: 0.75 },
      { negative: 0.25, positive: 0.75 },
      null,
    ]);
  });

  it('leaves rows for dev as they are, and answers no part of them, if the publisher set none aside', async () => {
    const given = await givenTo(recipe, options);
    const long = { text: 'It came late. It was broken when it came, of course.', label: 'negative' };
    const part = 'It was broken when it came, of course.';
    const train = Array.from({ length: 10 }, (_, at) => ({ ...long, text: `${at} ${long.text}` }));
    const rows = { train, dev: undefined, counts: given.rows.counts };
    const changed = { ...given, rows, texts: [part, 'It was fine when it came, of course.'] };
    const found = await recordedTeacher(recipe, await answersTo(changed), { ...changed, seed: 1 });
    expect(found.rows.dev).toHaveLength(1);
    expect(train).toContain(found.rows.dev?.[0]);
    expect(found.rows.train).toHaveLength(9);
    expect([...found.texts]).toEqual(['It was fine when it came, of course.']);
  });

  it('must have answered these rows and texts, in this order', async () => {
    const given = await givenTo(recipe, options);
    const path = await answersTo(given);
    const texts = given.texts.toReversed();
    await expect(recordedTeacher(recipe, path, { ...given, texts, seed: 1 })).rejects.toThrow(
      'answers other rows and texts than those of customer-review',
    );
  });

  it('is for classifiers with texts', async () => {
    await expect(givenTo(withoutTeacher(recipe), options)).rejects.toThrow(
      'customer-review has no texts for a teacher',
    );
    expect(() => requireClassifier(namedEntityRecognition)).toThrow('answers can be recorded for classifiers only');
  });

  it('teaches without being trained here', async () => {
    const work = join(root, 'taught-elsewhere');
    const answers = await answersTo(await givenTo(recipe, options));
    const mixing = { ...recipe, mixesLabels: true };
    await teach(mixing, { ...options, work, teacher: { answers } });
    await exportModel(mixing, { ...options, work, catalogue: join(root, 'catalogue-2') });
    const folder = join(root, 'catalogue-2', recipe.name);
    const facts = await readFacts(folder, 'data.json', trainingDataSchema);
    expect(facts).toMatchObject({ train: 18 + 13, mixedLabels: 'held-out' });
    const { orchard } = JSON.parse(await readFile(join(folder, 'config.json'), 'utf8'));
    expect(orchard.labels).toEqual(recipe.labels);
    const card = await readFile(join(folder, 'README.md'), 'utf8');
    expect(card).toContain('the mean of the label and the answer of a teacher that had not seen this row');
  });
});

describe('a recipe with more texts than a model learned', () => {
  it('is that of the texts that it learned', () => {
    const [, gossip] = recipe.unlabelled ?? [];
    const data = { sources: [], train: 1, dev: 0, duplicates: 0 };
    const source = (title = '') => ({ title, licence: 'CC0', teacher: 'large', train: 1, dev: 0, leaks: 0 });
    expect(asTrained(recipe, { ...data, sources: [source(gossip?.title)] }).unlabelled).toEqual([gossip]);
    expect(asTrained(recipe, { ...data, sources: [source('Verdicts')] }).unlabelled).toBeUndefined();
    const { teacher: _, ...labelled } = source(gossip?.title);
    expect(asTrained(recipe, { ...data, sources: [labelled] }).unlabelled).toBeUndefined();
  });
});
