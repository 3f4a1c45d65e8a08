import { existsSync } from 'node:fs';
import { mkdir, realpath, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ownFile, requireFor, resolvedFrom, startingPoints } from '../../../src/system/index.js';
import { aDirectory } from '../../storage/temporary-place.js';
import { failureOf } from '../../support/outcomes.js';

const FILE = 'rows-worker.js';
const code = new URL('../../../src/system/installation.ts', import.meta.url).href;
const ofPackage = new URL(`../../../dist/${FILE}`, import.meta.url);

const { argv } = process;
beforeEach(() => {
  delete process.env.ORCHARD_FILES;
});
afterEach(() => {
  process.argv = argv;
});

/** A bundle of CommonJS: there is no URL of the code. */
const nowhere = (): URL => {
  throw new TypeError('Invalid URL');
};

/** An application with these files, whose script runs. */
async function anApplication(...files: readonly string[]): Promise<string> {
  const directory = await realpath(await aDirectory());
  for (const file of files) {
    await mkdir(dirname(join(directory, file)), { recursive: true });
    await writeFile(join(directory, file), '{}');
  }
  process.argv = [process.execPath, join(directory, 'main.js')];
  return directory;
}

const urlOf = (directory: string, file: string) => pathToFileURL(join(directory, file)).href;

describe('a file that the build puts next to the code', () => {
  it('is that of the folder that ORCHARD_FILES names, before all others', async () => {
    const directory = await anApplication(`files/${FILE}`, FILE);
    process.env.ORCHARD_FILES = join(directory, 'files');
    expect(ownFile(FILE, () => pathToFileURL(join(directory, FILE))).href).toBe(urlOf(directory, `files/${FILE}`));
    process.env.ORCHARD_FILES = join(directory, 'elsewhere');
    expect(ownFile(FILE, () => pathToFileURL(join(directory, FILE))).href).toBe(urlOf(directory, FILE));
  });

  it('is the one next to the code, before that of the script', async () => {
    const directory = await anApplication(`code/${FILE}`, FILE);
    expect(ownFile(FILE, () => pathToFileURL(join(directory, 'code', FILE))).href).toBe(
      urlOf(directory, `code/${FILE}`),
    );
  });

  it.each(['.js', '.mjs', '.cjs'])(
    'is next to the script that runs where the code is in a bundle: rows-worker%s',
    async (ending) => {
      const directory = await anApplication(`rows-worker${ending}`);
      for (const url of [
        nowhere,
        () => new URL('webpack-internal:///x'),
        () => pathToFileURL(join(directory, 'none')),
      ]) {
        expect(ownFile(FILE, url).href).toBe(urlOf(directory, `rows-worker${ending}`));
      }
    },
  );

  it.runIf(existsSync(ofPackage))('is else that of the package that the code finds', async () => {
    await anApplication();
    expect(ownFile(FILE, nowhere).href).toBe(ofPackage.href);
  });

  it('is said to be missing with where it was looked for, and what to do', async () => {
    const directory = await anApplication();
    process.env.ORCHARD_FILES = join(directory, 'files');
    const missingOf = (name: string) =>
      failureOf('installation', () => Reflect.apply(ownFile, undefined, [name, nowhere]));
    const { missing, message } = await missingOf('lost-worker.js');
    expect(missing).toBe('lost-worker.js');
    const places = [
      urlOf(directory, 'files/lost-worker.js'),
      ...['.js', '.mjs', '.cjs'].map((ending) => new URL(`lost-worker${ending}`, code).href),
      ...['.js', '.mjs', '.cjs'].map((ending) => urlOf(directory, `lost-worker${ending}`)),
      new URL('lost-worker.js', ofPackage).href,
    ];
    expect(message).toContain(`(looked for ${places.join(', ')})`);
    expect(message).toContain('orchard-nlp/lost-worker as another entry point');
    // Parts of pages are no entries.
    expect((await missingOf('page/lost.js')).message).not.toContain('another entry point');
  });
});

describe('where packages are looked for', () => {
  it('is the code and the script that runs, if there is one', async () => {
    const directory = await anApplication();
    expect(startingPoints()).toEqual([code, join(directory, 'main.js')]);
    process.argv = [process.execPath];
    expect(startingPoints()).toEqual([code]);
  });

  it('gives the package that the script finds, if the code finds none', async () => {
    const directory = await anApplication('node_modules/only-here/index.js');
    expect(requireFor('only-here').resolve('only-here')).toBe(join(directory, 'node_modules', 'only-here', 'index.js'));
    expect(requireFor('zod').resolve('zod')).toBe(createRequire(import.meta.url).resolve('zod'));
    expect(() => requireFor('not-installed').resolve('not-installed')).toThrow('Cannot find module');
  });

  it('gives the path of a file of a package, as Node finds it', async () => {
    const directory = await anApplication('node_modules/only-here/data.json');
    const found = join(directory, 'node_modules', 'only-here', 'data.json');
    expect(resolvedFrom(join(directory, 'main.js'), 'only-here/data.json')).toBe(found);
    expect(resolvedFrom(urlOf(directory, 'main.js'), 'only-here/data.json')).toBe(found);
    expect(resolvedFrom(join(directory, 'main.js'), 'only-here/missing.json')).toBeUndefined();
  });
});
