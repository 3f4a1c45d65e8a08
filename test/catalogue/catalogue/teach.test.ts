import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { rowsOf } from '../../../models/recipes/catalogue/archives.js';
import { exportModel } from '../../../models/recipes/catalogue/export-model.js';
import { readFacts, trainingDataSchema } from '../../../models/recipes/catalogue/model-facts.js';
import type { ClassifierRecipe } from '../../../models/recipes/catalogue/recipe.js';
import { teach, withoutTeacher } from '../../../models/recipes/catalogue/teach.js';
import { writeTeacherData } from '../../../models/recipes/catalogue/teacher-data.js';
import { teacherElsewhere } from '../../../models/recipes/catalogue/teacher-elsewhere.js';
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
  labels: ['negative', 'positive'],
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
  options = { datasets: root, work, threads: 1, seed: 1, teacher, backbone: teacher, log: () => undefined };
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
    expect(card).toContain('main.ts teach customer-review`, taught by some-teacher');
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

describe('a teacher elsewhere', () => {
  const lines = (file: string) =>
    readFileSync(join(options.work, recipe.name, 'for-teacher', file), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  /** Says that everything is probably good. */
  const answersTo = (rows: number, texts: number) => {
    const each = (count: number) => Array.from({ length: count }, () => [250, 750]);
    const content = { teacher: 'large', labels: ['negative', 'positive'], rows: each(rows), texts: each(texts) };
    const path = join(root, 'answers.json.gz');
    writeFileSync(path, gzipSync(JSON.stringify(content)));
    return path;
  };

  it('gets the rows, the texts and the test as files', async () => {
    const said = await writeTeacherData(recipe, options);
    expect(said).toContain('customer-review: 20 rows, 10 for dev, and 13 texts in');
    expect(lines('rows.jsonl')).toHaveLength(20);
    expect(lines('rows.jsonl')[0]).toEqual({ text: 'the lamp is good', label: 'positive' });
    expect(lines('texts.jsonl')).toHaveLength(13);
    expect(lines('texts.jsonl')).not.toContain(measured);
    expect(lines('test-0.jsonl')).toEqual([{ text: measured, labels: ['negative'] }]);
  });

  it('shares the label of each row, and its answers are learned', async () => {
    const rows = await rowsOf(recipe, root);
    const texts = lines('texts.jsonl');
    const found = await teacherElsewhere(recipe, answersTo(20, 13), { rows, texts, seed: 1 });
    expect(found.rows.train[0]).toEqual({ text: 'the lamp is good', labels: { positive: 0.875, negative: 0.125 } });
    expect(found.rows.dev).toBe(rows.dev);
    expect(found.teacher([texts[0], 'the lamp is good', 'another'])).toEqual([
      { negative: 0.25, positive: 0.75 },
      { negative: 0.25, positive: 0.75 },
      null,
    ]);
  });

  it('leaves rows as they are for dev if the publisher set none aside', async () => {
    const { train, counts } = await rowsOf(recipe, root);
    const rows = { train, dev: undefined, counts };
    const found = await teacherElsewhere(recipe, answersTo(20, 0), { rows, texts: [], seed: 1 });
    expect(found.rows.dev).toHaveLength(2);
    expect(train).toEqual(expect.arrayContaining([...found.rows.dev]));
    expect(found.rows.train).toHaveLength(18);
  });

  it('must have answered these rows and texts', async () => {
    const given = { rows: await rowsOf(recipe, root), texts: lines('texts.jsonl'), seed: 1 };
    await expect(teacherElsewhere(recipe, answersTo(19, 13), given)).rejects.toThrow(
      'answers 19 rows and 13 texts, and customer-review has 20 and 13',
    );
  });

  it('teaches without being trained here', async () => {
    const work = join(root, 'taught-elsewhere');
    await teach(recipe, { ...options, work, teacher: { answers: answersTo(20, 13) } });
    await exportModel(recipe, { ...options, work, catalogue: join(root, 'catalogue-2') });
    const folder = join(root, 'catalogue-2', recipe.name);
    expect(await readFacts(folder, 'data.json', trainingDataSchema)).toMatchObject({ train: 18 + 13, areMixed: true });
    expect(await readFile(join(folder, 'README.md'), 'utf8')).toContain(
      'the answer of a teacher that had not seen this row',
    );
  });
});
