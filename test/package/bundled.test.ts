import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type BuildOptions, build } from 'esbuild';
import { build as tsup } from 'tsup';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tinyCatalogue } from '../support/tiny-catalogue.js';
import { install, root } from './install.js';

/**
 * The built package inside an application's bundle, made by esbuild and by tsup, and run where the package is not
 * installed: only the native runtime is. bench/bundlers.ts has the other bundlers, which are too large for the tests.
 */

/** Prints an answer, or the error. */
const APP = `
import { folderModels, memoryStorage, Predictor } from 'orchard-nlp';
const predictor = new Predictor({ storage: memoryStorage(), modelLoader: folderModels(process.argv[2]) });
predictor.predictPretrained('fruits', 'it').then(async (answer) => {
  console.log(answer.match(({ data }) => data.labels.toSorted().join(' '), ({ code, message }) => code + ' ' + message));
  await predictor.close();
});`;
const ANSWER = 'apple pear plum\n';

let folder: string;
let application: string;
let catalogue: string;
/** A folder like an image that a bundle is copied to. */
let elsewhere: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'orchard-bundled-'));
  application = join(folder, 'application');
  await install(application);
  await writeFile(join(application, 'app.mjs'), APP);
  catalogue = await tinyCatalogue(folder, { fruits: ['apple', 'pear', 'plum'] });
  elsewhere = join(folder, 'elsewhere');
  for (const name of ['onnxruntime-node', 'onnxruntime-common']) {
    await cp(join(root, 'node_modules', name, 'package.json'), join(elsewhere, 'node_modules', name, 'package.json'));
    await cp(join(root, 'node_modules', name, 'dist'), join(elsewhere, 'node_modules', name, 'dist'), {
      recursive: true,
    });
  }
  const library = join('node_modules', 'onnxruntime-node', 'bin', 'napi-v6', process.platform, process.arch);
  await cp(join(root, library), join(elsewhere, library), { recursive: true });
}, 60_000);
afterAll(() => rm(folder, { recursive: true }));

const withEntries = { app: './app.mjs', 'inference-worker': 'orchard-nlp/inference-worker' };

/** Bundles the application with all that it imports into a folder elsewhere. */
async function bundled(name: string, options: BuildOptions): Promise<string> {
  const outdir = join(elsewhere, name);
  const entryPoints = { app: './app.mjs' };
  const settings = { absWorkingDir: application, bundle: true, platform: 'node', logLevel: 'error' } as const;
  await build({ entryPoints, outdir, ...settings, ...options });
  return outdir;
}

async function printed(file: string, environment: Readonly<Record<string, string>> = {}): Promise<string> {
  const env = { ...process.env, ...environment };
  const { stdout } = await promisify(execFile)(process.execPath, [file, catalogue], { env });
  return stdout;
}

describe('an application bundled by esbuild', () => {
  it('answers where the package is installed', async () => {
    const outdir = join(application, 'out');
    await bundled('unused', { outdir, format: 'esm', outExtension: { '.js': '.mjs' } });
    expect(await printed(join(outdir, 'app.mjs'))).toBe(ANSWER);
  });

  it.each([
    ['esm', '.mjs'],
    ['cjs', '.cjs'],
  ] as const)('answers elsewhere as %s, with the worker as a further entry', async (format, ending) => {
    const options = { entryPoints: withEntries, format, outExtension: { '.js': ending } };
    const outdir = await bundled(format, options);
    expect(await printed(join(outdir, `app${ending}`))).toBe(ANSWER);
  });

  it('says what to do where the worker was left out, and answers once it is told where it lies', async () => {
    const outdir = await bundled('without', { format: 'cjs', outExtension: { '.js': '.cjs' } });
    const app = join(outdir, 'app.cjs');
    const told = await printed(app);
    expect(told).toMatch(/^installation inference-worker\.js: this file of orchard-nlp is missing/);
    for (const part of [outdir, 'external', 'orchard-nlp/inference-worker', 'ORCHARD_FILES', 'docs/bundlers.md'])
      expect(told).toContain(part);
    // chunks of dist import what the package depends on
    const files = join(application, 'node_modules', 'orchard-nlp', 'dist');
    expect(await printed(app, { ORCHARD_FILES: files })).toBe(ANSWER);
  });

  it('answers by WebAssembly where the runtime is missing, and warns which package to ship', async () => {
    const options = { entryPoints: withEntries, format: 'cjs', outExtension: { '.js': '.cjs' } } as const;
    const outdir = await bundled('bare', { ...options, outdir: join(folder, 'bare') });
    expect(outdir).toBe(join(elsewhere, 'bare'));
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [
      join(folder, 'bare', 'app.cjs'),
      catalogue,
    ]);
    expect(stdout).toBe(ANSWER);
    expect(stderr).toMatch(
      /ORCHARD_WASM.*onnxruntime-node: the package is not installed .*npm install --ignore-scripts onnxruntime-node/,
    );
  });
});

describe('an application bundled by tsup with everything inlined', () => {
  it('answers elsewhere, with the worker as a further entry', async () => {
    const outDir = join(elsewhere, 'tsup');
    const entry = {
      app: join(application, 'app.mjs'),
      'inference-worker': join(application, 'node_modules', 'orchard-nlp', 'dist', 'inference-worker.js'),
    };
    await tsup({
      config: false,
      entry,
      outDir,
      format: 'cjs',
      noExternal: [/./],
      external: [],
      silent: true,
    });
    expect(await printed(join(outDir, 'app.cjs')).catch(() => printed(join(outDir, 'app.js')))).toBe(ANSWER);
  });
});
