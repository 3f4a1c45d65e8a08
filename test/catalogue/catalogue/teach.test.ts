import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { drawnLabels } from '../../../models/recipes/catalogue/drawn-labels.js';
import { exportModel } from '../../../models/recipes/catalogue/export-model.js';
import { readFacts, trainingDataSchema } from '../../../models/recipes/catalogue/model-facts.js';
import type { ClassifierRecipe } from '../../../models/recipes/catalogue/recipe.js';
import { teach, withoutTaughtTexts, withTaughtTexts } from '../../../models/recipes/catalogue/teach.js';
import { trainModel } from '../../../models/recipes/catalogue/train.js';
import { usageTerms, withFreeData } from '../../../models/recipes/catalogue/usage-terms.js';
import { Random } from '../../../src/system/numbers.js';
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
      read: () => ({ train: [...judged('is good', 'positive'), ...judged('is bad', 'negative')] }),
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
let options: { datasets: string; work: string; threads: number; seed: number; log: () => undefined };
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'orchard-test-'));
  writeTeacher(join(root, 'some-teacher'));
  options = { datasets: root, work: join(root, 'work'), threads: 1, seed: 1, log: () => undefined };
  await teach(recipe, { ...options, teacher: join(root, 'some-teacher') });
});
afterAll(() => rmSync(root, { recursive: true }));

describe('a recipe with texts that a teacher labels', () => {
  it('learns from each of them once, and from no more than it asked for', async () => {
    const taught = withTaughtTexts(recipe, options.work);
    if (taught.family !== 'Papaya') throw new Error('it is a classifier');
    const [, talk, gossip] = taught.sources;
    const rows = (await talk?.read(root))?.train ?? [];
    expect(rows.map(({ text }) => text).sort()).toEqual(
      others.flatMap((thing) => [`the ${thing} is bad`, `the ${thing} is good`]).sort(),
    );
    for (const { labels } of rows) expect(recipe.labels).toEqual(expect.arrayContaining([...labels]));
    expect((await gossip?.read(root))?.train).toHaveLength(2);
  });

  it('is trained on them but for tests, and its card tells whose labels they are', async () => {
    const taught = withTaughtTexts(recipe, options.work);
    await trainModel(taught, { ...options, backbone: join(root, 'some-teacher') });
    await exportModel(taught, { ...options, catalogue: join(root, 'catalogue') });
    const folder = join(root, 'catalogue', recipe.name);
    const data = await readFacts(folder, 'data.json', trainingDataSchema);
    expect(data?.sources.map(({ title, train, leaks }) => ({ title, train, leaks }))).toEqual([
      { title: 'Verdicts', train: 20, leaks: 0 },
      { title: 'Talk', train: 11, leaks: 1 },
      { title: 'Gossip', train: 2, leaks: 0 },
    ]);
    const card = await readFile(join(folder, 'README.md'), 'utf8');
    expect(card).toContain('Talk; without labels; some-teacher, fine-tuned on the rows above, labelled them');
    expect(card).toContain(
      'main.ts teach customer-review` with some-teacher as the teacher, then `npx tsx models/recipes/catalogue/main.ts train customer-review`',
    );
    expect(card).toContain('Gossip: no licence is stated where it was found');
  });

  it('has to be taught first, unless it goes without them', () => {
    expect(() => withTaughtTexts(recipe, join(root, 'elsewhere'))).toThrow('run teach first, or add --untaught');
    expect(withoutTaughtTexts(recipe)).not.toHaveProperty('unlabelled');
    expect(withTaughtTexts(withoutTaughtTexts(recipe), root).sources).toEqual(recipe.sources);
  });

  it('may be used for money only without those that forbid it', () => {
    expect(usageTerms(recipe)?.reasons).toEqual(['Gossip: no licence is stated where it was found']);
    expect(usageTerms(withFreeData(recipe))).toBeUndefined();
  });
});

describe('drawn labels', () => {
  const scores = [
    { label: 'a', score: 0.6 },
    { label: 'b', score: 0.3 },
    { label: 'c', score: 0.1 },
  ];
  const draws = 20_000;
  /** Share of the draws that hold each label; its standard error is at most 0.0035. */
  function shares(type: ClassifierRecipe['type']): number[] {
    const random = Random.fromSeed(3);
    const drawn = Array.from({ length: draws }, () => drawnLabels(type, scores, random));
    return scores.map(({ label }) => drawn.filter((labels) => labels.includes(label)).length / draws);
  }

  it.each(['multiclass-text-classification', 'multilabel-text-classification'] as const)(
    'come as often as they are probable in %s',
    (type) => {
      for (const [at, share] of shares(type).entries()) {
        expect(Math.abs(share - (scores[at]?.score ?? 0))).toBeLessThan(0.015);
      }
    },
  );

  it('are one of several classes, and any number of several labels', () => {
    const random = Random.fromSeed(5);
    const counts = (type: ClassifierRecipe['type']) =>
      new Set(Array.from({ length: 200 }, () => drawnLabels(type, scores, random).length));
    expect([...counts('multiclass-text-classification')]).toEqual([1]);
    expect([...counts('multilabel-text-classification')].sort()).toEqual([0, 1, 2, 3]);
  });
});
