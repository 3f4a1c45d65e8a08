import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { catalogueDirectory } from 'orchard-nlp-models';
import { describe, expect, it } from 'vitest';
import { catalogueIn, cataloguePlaces } from '../../src/models/catalogue-models.js';
import { type ModelFiles, modelLoaderContract } from '../../testing/model-loader-contract.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

function write(path: string, content: string): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

function aCatalogue(models: ModelFiles): string {
  const directory = temporaryDirectory();
  for (const [model, files] of Object.entries(models)) {
    for (const [file, content] of Object.entries(files)) write(join(directory, model, file), content);
  }
  return directory;
}

const notFound = (place: string[], name: string) =>
  catalogueIn(() => place)
    .load(name)
    .then(
      () => expect.fail('it was found'),
      (thrown: unknown) => thrown,
    );

describe('the catalogue', () => {
  const aLoader = (models: ModelFiles) => {
    const places = [aCatalogue(models)];
    return catalogueIn(() => places);
  };
  for (const { name, run } of modelLoaderContract(aLoader)) it(name, run);

  it('takes each model from the first place that has it', async () => {
    const [absent, first, second] = [
      join(temporaryDirectory(), 'absent'),
      aCatalogue({ 'news-classification': { 'config.json': '{}' } }),
      aCatalogue({ 'news-classification': {}, 'emotion-detection': { 'config.json': '{}' } }),
    ];
    const catalogue = catalogueIn(() => [absent, first, second]);
    const load = async (name: string) => (await catalogue.load(name)).directory;
    expect(await load('news-classification')).toBe(join(first, 'news-classification'));
    expect(await load('emotion-detection')).toBe(join(second, 'emotion-detection'));
    const { message } = Object(await notFound([absent, first, second], 'weather'));
    expect(message).toContain(`${first} has news-classification; ${second} has emotion-detection`);
    expect(message).not.toContain(absent);
  });
});

describe('a model that the catalogue does not have', () => {
  const file = { 'config.json': '{}' };

  it('is named, with the one that was probably meant, the place searched and the models there', async () => {
    const place = aCatalogue({ 'sentiment-classification': file, 'news-classification': file });
    expect(await notFound([place], 'sentiment-clasification')).toMatchObject({
      code: 'not_found',
      id: 'sentiment-clasification',
      message:
        'no pretrained model "sentiment-clasification": did you mean "sentiment-classification"? ' +
        `${place} has news-classification, sentiment-classification`,
    });
  });

  it('comes without a suggestion if no name is similar', async () => {
    const place = aCatalogue({ 'news-classification': file });
    const error = await notFound([place], 'weather');
    expect(error).toMatchObject({
      message: `no pretrained model "weather": ${place} has news-classification`,
    });
  });

  it('is called a backbone in a catalogue of backbones', async () => {
    const place = aCatalogue({ 'english-mini': file });
    await expect(catalogueIn(() => [place], ['backbone']).load('english-midi')).rejects.toMatchObject({
      resource: 'backbone',
      message: `no backbone "english-midi": did you mean "english-mini"? ${place} has english-mini`,
    });
  });

  it('is reported with the empty catalogue, if it is empty', async () => {
    const place = temporaryDirectory();
    expect(await notFound([place], 'weather')).toMatchObject({
      message: `no pretrained model "weather": ${place} holds no models`,
    });
  });

  it('is reported with what brings it alone, if it is published', async () => {
    const place = aCatalogue({ 'news-classification': file });
    const { message } = Object(await notFound([place], 'emotion-detection'));
    expect(message).toContain('npm install orchard-nlp-models');
    expect(message).toMatch(
      /npx orchard models pull emotion-detection --from <folder or URL> gets it alone \(\d+\.\d MB\)/,
    );
    // a model is no backbone
    const asBackbone = catalogueIn(() => [place], ['backbone']).load('emotion-detection');
    await expect(asBackbone).rejects.toMatchObject({ message: expect.not.stringContaining('pull') });
  });

  it('is reported with what to install if there is no catalogue, and looked for nowhere else', async () => {
    const absent = join(temporaryDirectory(), 'absent');
    const error = await notFound([absent], basename(process.cwd()));
    expect(error).toMatchObject({ code: 'not_found' });
    expect(error).toHaveProperty('message', expect.stringContaining(absent));
    expect(error).toHaveProperty('message', expect.stringContaining('npm install orchard-nlp-models'));
    expect(await notFound([], 'src')).toMatchObject({ code: 'not_found' });
  });
});

describe('where the catalogue is looked for', () => {
  /** An application with a library installed. @returns its root, links resolved as Node does. */
  function anApplication(): string {
    const root = realpathSync(temporaryDirectory());
    const manifest = { name: 'orchard-nlp', exports: { './package.json': './package.json' } };
    write(join(root, 'node_modules/orchard-nlp/package.json'), JSON.stringify(manifest));
    write(join(root, 'node_modules/orchard-nlp/dist/index.js'), '');
    return root;
  }
  const libraryOf = (root: string) => pathToFileURL(join(root, 'node_modules/orchard-nlp/dist/index.js'));

  it('is the installed package first, then the folder next to the library', () => {
    const root = anApplication();
    write(join(root, 'node_modules/orchard-nlp-models/package.json'), '{}');
    expect(cataloguePlaces(libraryOf(root), 'catalogue')).toEqual([
      join(root, 'node_modules/orchard-nlp-models/catalogue'),
      join(root, 'node_modules/orchard-nlp/models/catalogue'),
    ]);
  });

  it('is only next to the library if the package is not installed', () => {
    const root = anApplication();
    expect(cataloguePlaces(libraryOf(root), 'catalogue')).toEqual([
      join(root, 'node_modules/orchard-nlp/models/catalogue'),
    ]);
  });

  it('is nowhere for a library in a bundle', () => {
    const bundle = write(join(realpathSync(temporaryDirectory()), 'bundle.js'), '');
    expect(cataloguePlaces(pathToFileURL(bundle), 'catalogue')).toEqual([]);
  });

  it('is the folder that the package names', () => {
    const [installed = ''] = cataloguePlaces(import.meta.url, 'catalogue');
    expect(join(realpathSync(dirname(installed)), basename(installed))).toBe(catalogueDirectory);
  });
});
