import assert from 'node:assert/strict';
import { readFile, stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { isOrchardError, type OrchardError } from '../src/contract/index.js';
import type { ModelLoader, ModelProgress } from '../src/models/index.js';
import type { ContractCase } from './contract-case.js';

/** Models by name, each with the content of its files by path, with '/'. */
export type ModelFiles = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Creates a loader with exactly these models, for one test. The caller removes the loader's files. */
export type CreateModelLoader = (models: ModelFiles) => ModelLoader | Promise<ModelLoader>;

const MODEL = 'orchard/tiny';
const files = {
  'config.json': '{ "model_type": "bert" }',
  'model.safetensors': `weights ${'\u0000\u00ff'.repeat(50_000)}`,
  'onnx/model.onnx': '',
  'README.md': 'ä\r\nö',
};
const models: ModelFiles = {
  [MODEL]: files,
  'orchard/other': { 'config.json': '{}' },
  plain: { 'config.json': '{ "plain": true }' },
};

const promises: Readonly<Record<string, (loader: ModelLoader) => Promise<void>>> = {
  'is of version 1 of the interface': async (loader) => {
    assert.equal(loader.specificationVersion, 1);
  },

  'gives an absolute directory with every file of a model, byte for byte': async (loader) => {
    const { directory } = await loader.load(MODEL);
    assert.ok(isAbsolute(directory));
    await assertFiles(directory, files);
  },

  'brings the files that are asked for and that the model has': async (loader) => {
    const asked = ['onnx/model.onnx', 'config.json', 'vocab.txt'];
    const { directory } = await loader.load(MODEL, { files: asked });
    await assertFiles(directory, { 'config.json': files['config.json'], 'onnx/model.onnx': '' });
    await assert.rejects(stat(join(directory, 'vocab.txt')));
  },

  'brings the other files when they are asked for later': async (loader) => {
    await loader.load(MODEL, { files: ['config.json'] });
    const { directory } = await loader.load(MODEL, { files: ['README.md'] });
    await assertFiles(directory, { 'README.md': files['README.md'] });
  },

  'takes names without an owner, and keeps models apart': async (loader) => {
    const { directory } = await loader.load('plain');
    await assertFiles(directory, { 'config.json': '{ "plain": true }' });
    const other = await loader.load('orchard/other');
    await assertFiles(other.directory, { 'config.json': '{}' });
  },

  'gives the same directory again': async (loader) => {
    assert.deepEqual(await loader.load(MODEL), await loader.load(MODEL));
  },

  'serves many calls at once': async (loader) => {
    const loaded = await Promise.all(Array.from({ length: 8 }, () => loader.load(MODEL)));
    for (const { directory } of loaded) await assertFiles(directory, files);
  },

  'reports progress, if any, that never falls and ends with all bytes': async (loader) => {
    const events: ModelProgress[] = [];
    await loader.load(MODEL, { onProgress: (event) => events.push(event) });
    let before = 0;
    for (const { model, file, receivedBytes, totalBytes } of events) {
      assert.equal(model, MODEL);
      assert.ok(Object.hasOwn(files, file));
      assert.ok(receivedBytes >= before && receivedBytes <= totalBytes);
      before = receivedBytes;
    }
    const last = events.at(-1);
    assert.equal(last?.receivedBytes, last?.totalBytes);
  },

  'rejects with a NotFoundError that names the model it does not have': async (loader) => {
    for (const name of ['orchard/absent', 'absent']) {
      const error = await failureOf(loader.load(name));
      assert.equal(error.code, 'not_found');
      assert.ok(error.message.includes(name));
    }
  },

  'rejects with a ValidationError for names that lead elsewhere': async (loader) => {
    const names = ['', '.', '..', '../plain', '/etc', 'orchard/../plain', 'a/b/c', 'orchard/', '.git', 'a b', 'C:\\x'];
    for (const name of names) {
      const error = await failureOf(loader.load(name));
      assert.equal(error.code, 'validation', name);
    }
  },

  'rejects with an AbortedError if the signal has fired': async (loader) => {
    const error = await failureOf(loader.load(MODEL, { signal: AbortSignal.abort() }));
    assert.equal(error.code, 'aborted');
  },
};

/**
 * What every {@link ModelLoader} must do, as tests for any test runner:
 * ```ts
 * for (const { name, run } of modelLoaderContract((models) => myLoader(models))) it(name, run);
 * ```
 */
export function modelLoaderContract(create: CreateModelLoader): readonly ContractCase[] {
  return Object.entries(promises).map(([name, check]) => ({
    name,
    run: async () => check(await create(models)),
  }));
}

async function assertFiles(directory: string, expected: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, content] of Object.entries(expected)) {
    const bytes = await readFile(join(directory, ...path.split('/')), 'utf8');
    assert.ok(bytes === content, `${path} differs from the model's`);
  }
}

async function failureOf(call: Promise<unknown>): Promise<OrchardError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(isOrchardError(error), 'rejects with an OrchardError');
  return error;
}
