import { cp, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readReplaced } from '../../bench/replaced-folder/measure.js';
import { loadModel } from '../../src/index.js';
import { readUnchanged } from '../../src/models/index.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** A folder that another model replaces while its model is open: worker threads would load the other one later. */

const catalogue = join(import.meta.dirname, '../../models/catalogue');
const short = 'Works perfectly, would buy again.';
const long = `${short} `.repeat(400);

it('a model whose folder was replaced answers as itself, or says so; it never answers as the other model', async () => {
  const directory = join(temporaryDirectory(), 'model');
  await mkdir(directory, { recursive: true });
  await cp(join(catalogue, 'customer-review'), directory, { recursive: true });
  const model = (await loadModel(directory))._unsafeUnwrap();
  const before = (await model.predict(short))._unsafeUnwrap();
  await rename(directory, `${directory}.old`);
  await cp(join(catalogue, 'emotion-detection'), directory, { recursive: true });

  expect((await model.predict(short))._unsafeUnwrap()).toEqual(before);
  expect((await model.predict(long))._unsafeUnwrapErr()).toMatchObject({
    code: 'model_folder',
    message: expect.stringContaining('it has changed since the model was loaded; load the model again'),
  });
  const many = (await model.predict(Array.from({ length: 2000 }, () => short)))._unsafeUnwrap();
  expect(new Set(many.map((answer) => 'label' in answer && answer.label))).toEqual(new Set(['positive']));
  await model.close();
});

it('a model of which a file was overwritten is not saved, and has no card, as the other model', async () => {
  const directory = join(temporaryDirectory(), 'model');
  await cp(join(catalogue, 'customer-review'), directory, { recursive: true });
  const model = (await loadModel(directory))._unsafeUnwrap();
  const copy = join(temporaryDirectory(), 'copy');
  expect((await model.save(copy)).isOk()).toBe(true);
  for (const name of ['config.json', 'README.md']) {
    await writeFile(join(directory, name), await readFile(join(catalogue, 'emotion-detection', name)));
  }

  const refused = { code: 'model_folder', message: expect.stringContaining('load the model again') };
  const other = join(temporaryDirectory(), 'other');
  expect((await model.save(other))._unsafeUnwrapErr()).toMatchObject(refused);
  await expect(readFile(join(other, 'config.json'))).rejects.toThrow(/ENOENT/);
  expect((await model.card())._unsafeUnwrapErr()).toMatchObject(refused);
  expect((await model.report())._unsafeUnwrapErr()).toMatchObject(refused);
  await model.close();
});

it('a folder that is replaced again and again is loaded by other processes as one of its models, which stays what it was', async () => {
  const { seen } = await readReplaced({
    library: new URL('../../dist/index.js', import.meta.url).href,
    directory: temporaryDirectory(),
    readers: 2,
    loads: 8,
    keepEvery: 4,
    everyMs: 150,
  });
  for (const { answers, ...counts } of seen) {
    expect(counts).toEqual({ mixed: 0, errors: {}, cards: 2, saves: 2, wrongCards: 0, wrongSaves: 0 });
    expect(Object.values(answers).reduce((sum, count) => sum + count, 0)).toBe(8);
  }
});

describe('a folder that is replaced while it is read', () => {
  async function folderOf(name: string, content: string): Promise<string> {
    const directory = join(temporaryDirectory(), name);
    await mkdir(directory, { recursive: true });
    for (const file of ['config.json', 'graph']) await writeFile(join(directory, file), content);
    return directory;
  }

  const replace = async (directory: string, by: string) => {
    await rename(directory, `${directory}.${Math.random()}`);
    await rename(by, directory);
  };

  it('is read again, and what was read of two models is thrown away', async () => {
    const [directory, next] = [await folderOf('model', 'first'), await folderOf('next', 'second')];
    const discarded: string[] = [];
    let readings = 0;
    const { value } = await readUnchanged(
      directory,
      async () => {
        const config = await readFile(join(directory, 'config.json'), 'utf8');
        readings += 1;
        if (readings === 1) await replace(directory, next);
        return `${config} ${await readFile(join(directory, 'graph'), 'utf8')}`;
      },
      async (mixed) => void discarded.push(mixed),
    );
    expect({ value, readings, discarded }).toEqual({
      value: 'second second',
      readings: 2,
      discarded: ['first second'],
    });
  });

  it('may be away for a moment', async () => {
    const directory = await folderOf('model', 'first');
    const away = join(directory, '..', '.model.old-1');
    await rename(directory, away);
    let readings = 0;
    const { value } = await readUnchanged(
      directory,
      async () => {
        readings += 1;
        if (readings === 2) await rename(away, directory);
        return readFile(join(directory, 'graph'), 'utf8');
      },
      async () => undefined,
    );
    expect(value).toBe('first');
  });

  it('is an error at once if there is none, and in the end if it never stays', async () => {
    const none = join(temporaryDirectory(), 'none');
    let readings = 0;
    const missing = readUnchanged(
      none,
      () => readFile(none, 'utf8').finally(() => (readings += 1)),
      async () => undefined,
    );
    await expect(missing).rejects.toThrow(/ENOENT/);
    expect(readings).toBe(1);
    const directory = await folderOf('model', 'first');
    const restless = readUnchanged(
      directory,
      async () => replace(directory, await folderOf('next', 'again')),
      async () => undefined,
    );
    await expect(restless).rejects.toThrow(/it has changed/);
  });
});
