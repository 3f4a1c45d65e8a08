import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { catalogueDirectory } from '../../../models/index.js';
import { fileSizes, MAX_FILE_BYTES } from '../../../models/recipes/catalogue/export-model.js';
import { trainingDataSchema } from '../../../models/recipes/catalogue/model-facts.js';
import { recipes, recipesNamed } from '../../../models/recipes/catalogue/models/index.js';
import { asTrained } from '../../../models/recipes/catalogue/teach.js';
import { usageTerms, withFreeData } from '../../../models/recipes/catalogue/usage-terms.js';
import { folderModels, MAX_BATCH_QUERIES, memoryStorage, Predictor, pretrainedModelNames } from '../../../src/index.js';
import { modelFolderConfig } from '../../../src/models/index.js';
import { classNames } from '../../../src/report/index.js';

/** Every model that the catalogue holds, and every recipe. */

/** What the package may take. */
const MAX_PACKAGE_BYTES = 200_000_000;

const all = Object.values(recipes);
const present = all.filter(({ name }) => existsSync(join(catalogueDirectory, name)));

describe('the recipes', () => {
  it('are one for each documented name', () => {
    expect(Object.keys(recipes)).toEqual([...pretrainedModelNames]);
    expect(all.map(({ name }) => name)).toEqual([...pretrainedModelNames]);
  });

  it.each(all)('of $name say data with licences, tests, weaknesses, and a name that a job may have', (recipe) => {
    expect(recipe.job).toMatch(/^[a-z0-9-]{1,24}$/);
    expect(recipe.weaknesses.length).toBeGreaterThanOrEqual(3);
    expect(recipe.tests.length).toBeGreaterThanOrEqual(1);
    for (const { title, licence } of recipe.sources) {
      expect(title).not.toBe('');
      expect(licence).not.toBe('');
    }
  });

  it('name an alternative exactly where data are restricted, and can leave such data out', () => {
    const restricted = all.filter(({ sources }) => sources.some((source) => source.restricted !== undefined));
    expect(restricted.map(({ name }) => name)).toEqual([
      'customer-review',
      'sentiment-classification',
      'toxicity-detection',
      'news-classification',
      'financial-sentiment-analysis',
      'named-entity-recognition',
    ]);
    for (const recipe of all) expect(recipe.alternative !== undefined).toBe(restricted.includes(recipe));
    const free = withFreeData(recipes['toxicity-detection']);
    const licences = ['CC0 1.0', 'CC0 1.0', 'MIT', 'Apache-2.0', 'CC0 1.0'];
    expect(free.sources.map(({ licence }) => licence)).toEqual(licences);
    expect(usageTerms(free)).toBeUndefined();
    for (const name of ['news-classification', 'sentiment-classification'] as const)
      expect(() => withFreeData(recipes[name])).toThrow('all of its data are restricted');
  });

  it('are found by name, and a wrong name tells what there is', () => {
    expect(recipesNamed(['news-classification']).map(({ name }) => name)).toEqual(['news-classification']);
    expect(recipesNamed(['all'])).toHaveLength(11);
    expect(() => recipesNamed(['weather'])).toThrow(/no model weather: there are customer-review, /);
  });
});

describe('the package', () => {
  it('is within its sizes', async () => {
    const folders = ['catalogue', 'backbones'].map((name) =>
      fileURLToPath(new URL(`../../../models/${name}`, import.meta.url)),
    );
    const sizes = await Promise.all(folders.filter((folder) => existsSync(folder)).map(fileSizes));
    const bytes = sizes.flatMap((files) => [...files.values()]);
    expect(Math.max(0, ...bytes)).toBeLessThanOrEqual(MAX_FILE_BYTES);
    expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(MAX_PACKAGE_BYTES);
  });
});

describe.each(present)('$name', (recipe) => {
  const directory = join(catalogueDirectory, recipe.name);
  const read = (file: string) => readFile(join(directory, file), 'utf8');

  it('answers one query and a batch alike', async () => {
    await using predictor = new Predictor({
      storage: memoryStorage(),
      modelLoader: folderModels(catalogueDirectory),
      isolation: 'inline',
    });
    const one = (await predictor.predictPretrained(recipe.name, recipe.example))._unsafeUnwrap().data;
    const queries = Array.from({ length: MAX_BATCH_QUERIES }, () => recipe.example);
    const batch = (await predictor.predictPretrainedBatch(recipe.name, queries))._unsafeUnwrap().data;
    for (const { labels } of batch) expect(labels).toEqual(one.labels);
    const config = modelFolderConfig(JSON.parse(await read('config.json')), 'config.json');
    const { names } = classNames(config);
    switch (recipe.family) {
      case 'Papaya':
        expect([...one.labels].sort()).toEqual([...names].sort());
        if (recipe.labels) expect(names).toEqual(recipe.labels);
        expect(one.scores).toEqual([...one.scores].sort((a, b) => b - a));
        break;
      case 'Grapefruit':
        expect(one.labels.length).toBeGreaterThan(0);
        expect(names).toEqual(expect.arrayContaining(one.labels));
        expect(
          one.tokens?.map((token, at) => recipe.example.startsWith(token, one.token_start_positions?.[at])),
        ).not.toContain(false);
        break;
      case 'Dragonfruit':
        expect(one.labels).toHaveLength(10);
        expect(await read('NOTICE')).toContain(recipe.passages.licence === 'CC BY 4.0' ? 'Attribution 4.0' : '');
        break;
    }
  });

  it('has a card with its data, their licences and the command that measures it', async () => {
    const card = await read('README.md');
    for (const { licence } of recipe.sources) expect(card).toContain(licence);
    expect(card).toContain(`npm run bench -- catalogue <datasets folder> ${recipe.name}`);
    expect(card).toContain('What it is bad at');
  });

  it('says in its card and in config.json if its data forbid commercial use, with what to use instead', async () => {
    const data = trainingDataSchema.parse(JSON.parse(await read('data.json')));
    const terms = usageTerms(asTrained(recipe, data));
    const config = modelFolderConfig(JSON.parse(await read('config.json')), 'config.json');
    expect(config.orchard.licence).toEqual(terms);
    const card = await read('README.md');
    expect(card.includes('Not for commercial use')).toBe(terms !== undefined);
    if (terms !== undefined) expect(card).toContain(terms.alternative);
  });

  it('names no Python class, whose file and weights stay behind', async () => {
    expect(JSON.parse(await read('config.json'))).not.toHaveProperty('auto_map');
  });

  it('ships one graph, and no text of the datasets beside what it searches', () => {
    const graphs = ['onnx/model.onnx', 'onnx/model_quantized.onnx'];
    expect(graphs.filter((graph) => existsSync(join(directory, graph)))).toHaveLength(1);
    expect(existsSync(join(directory, 'evaluation.json'))).toBe(false);
    expect(existsSync(join(directory, 'model.safetensors'))).toBe(false);
  });
});
