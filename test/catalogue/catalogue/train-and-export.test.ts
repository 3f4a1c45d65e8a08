import { mkdtempSync, rmSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exportModel } from '../../../models/recipes/catalogue/export-model.js';
import { readFacts, trainingDataSchema } from '../../../models/recipes/catalogue/model-facts.js';
import type { ClassifierRecipe, Recipe, SearchRecipe } from '../../../models/recipes/catalogue/recipe.js';
import { modelStorage, type TrainOptions, trainModel } from '../../../models/recipes/catalogue/train.js';
import { folderModels, memoryStorage, Predictor, Trainer } from '../../../src/index.js';

/** From rows to a folder that answers, by the commands' own functions, on a handful of rows. */

const things = ['lamp', 'phone', 'room', 'driver', 'film', 'book', 'chair', 'clock'];
const judged = (verdict: string, label: string) =>
  things.map((thing) => ({ text: `the ${thing} ${verdict}`, labels: [label] }));

const about = {
  language: 'english',
  does: 'It is small.',
  example: 'the lamp is good',
  weaknesses: ['It knows eight things.'],
  training: { num_epochs: 1 },
} as const;

const classifier: ClassifierRecipe = {
  ...about,
  name: 'customer-review',
  job: 'small-classifier',
  family: 'Papaya',
  type: 'binary-text-classification',
  labels: ['negative', 'positive'],
  sources: [
    {
      title: 'Verdicts',
      licence: 'CC0',
      read: () => ({ train: [...judged('is good', 'positive'), ...judged('is bad', 'negative')] }),
    },
  ],
  tests: [{ title: 'One verdict', read: () => [{ text: 'The lamp is BAD.', labels: ['negative'] }] }],
};

const shipped = things.map((thing) => `Where to find a ${thing}, and what it costs.`);

const search: SearchRecipe = {
  ...about,
  name: 'research-papers-search',
  job: 'small-search',
  family: 'Dragonfruit',
  sources: [
    {
      title: 'Questions',
      licence: 'CC0',
      read: () => ({
        train: things.map((thing) => ({
          question: `what is a ${thing}?`,
          context: `A ${thing} is a thing.`,
        })),
      }),
    },
  ],
  tests: [{ title: 'None', read: () => ({ passages: [], questions: [] }) }],
  passages: { title: 'Shops', licence: 'CC0', notice: 'By nobody.\n', read: () => shipped },
};

describe.each<[string, Recipe]>([
  ['a classifier', classifier],
  ['a search', search],
])('%s', (_, recipe) => {
  let root: string;
  let catalogue: string;
  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), 'orchard-test-'));
    catalogue = join(root, 'catalogue');
    const work = join(root, 'work');
    const options: TrainOptions = { datasets: root, work, threads: 1, device: 'cpu', seed: 1, log: () => undefined };
    await trainModel(recipe, options);
    await trainModel(recipe, options);
    await exportModel(recipe, { ...options, catalogue });
  });
  afterAll(() => rmSync(root, { recursive: true }));

  const file = (name: string) => readFile(join(catalogue, recipe.name, name), 'utf8');
  const filesOf = async () =>
    (await readdir(join(catalogue, recipe.name), { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map(({ name }) => name)
      .sort();

  it('is trained once, however often it is asked for', async () => {
    await using trainer = new Trainer({
      storage: modelStorage(join(root, 'work'), recipe),
      isolation: 'inline',
    });
    const { data } = (await trainer.listTrainingJobs())._unsafeUnwrap();
    expect(data.map(({ status }) => status)).toEqual(['READY']);
  });

  it('comes with what answering needs and its card, and neither float32 weights nor texts of dev', async () => {
    const files = await filesOf();
    expect(files).toEqual(
      expect.arrayContaining(['README.md', 'config.json', 'data.json', 'tokenizer.json', 'training.json']),
    );
    expect(files.filter((name) => name.endsWith('.onnx'))).toHaveLength(1);
    expect(files).not.toContain('model.safetensors');
    expect(files).not.toContain('evaluation.json');
    expect(await file('config.json')).not.toContain('modeling_orchard');
  });

  it('tells on its card where it is from, and that it was not measured yet', async () => {
    const card = await file('README.md');
    expect(card).toContain(`# ${recipe.name}`);
    expect(card).toContain('CC0');
    expect(card).toContain('Not measured yet');
    expect(card).toContain('It knows eight things.');
  });

  it('answers from the exported folder', async () => {
    await using predictor = new Predictor({
      storage: memoryStorage(),
      modelLoader: folderModels(catalogue),
      isolation: 'inline',
    });
    const { data } = (await predictor.predictPretrained(recipe.name, recipe.example))._unsafeUnwrap();
    const known = recipe.family === 'Dragonfruit' ? shipped : ['negative', 'positive'];
    expect([...data.labels].sort()).toEqual([...known].sort());
    expect(data.scores.reduce((sum, score) => sum + score, 0)).toBeCloseTo(1, 5);
  });

  if (recipe.family === 'Dragonfruit') {
    it('searches what is shipped, not what it learned from, and names whose it is', async () => {
      expect(JSON.parse(await file('passages.json'))).toEqual(shipped);
      expect(await file('NOTICE')).toBe('By nobody.\n');
      await using predictor = new Predictor({
        storage: memoryStorage(),
        modelLoader: folderModels(catalogue),
        isolation: 'inline',
      });
      const { data } = (await predictor.predictPretrained(recipe.name, shipped[3] ?? ''))._unsafeUnwrap();
      expect(data.labels[0]).toBe(shipped[3]);
    });
  } else {
    it('was not trained on what it is tested on', async () => {
      const data = await readFacts(join(catalogue, recipe.name), 'data.json', trainingDataSchema);
      expect(data?.sources).toMatchObject([{ train: 15, dev: 0, leaks: 1 }]);
    });
  }
});
