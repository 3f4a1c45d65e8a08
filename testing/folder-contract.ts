import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import type { Storage } from '../src/storage/index.js';
import { ODD_KEYS, observeDuring, outcomes, range, type StorageChecks } from './storage-check.js';

/** The contents of a folder's files, by relative path with '/'. */
type Files = Readonly<Record<string, string>>;

/** What a storage promises about folders. */
export const folderContract: StorageChecks = {
  'stages an empty directory of the local disk': async (storage) => {
    const directory = await storage.stageFolder('m');
    assert.ok(isAbsolute(directory));
    assert.deepEqual(await readdir(directory), []);
  },

  'stages the same directory again under the same key, with its files': async (storage) => {
    const directory = await stage(storage, 'm', { 'checkpoint.bin': 'half way' });
    assert.equal(await storage.stageFolder('m'), directory);
    assert.deepEqual(await filesIn(directory), { 'checkpoint.bin': 'half way' });
  },

  'opens nothing if nothing is published, even if something is staged': async (storage) => {
    assert.equal(await storage.openFolder('m'), undefined);
    await stage(storage, 'm', { 'config.json': '{}' });
    assert.equal(await storage.openFolder('m'), undefined);
  },

  'publishes the staged files, subdirectories included': async (storage) => {
    const files = { 'config.json': '{}', 'onnx/model.onnx': 'bytes', 'a/b/c.txt': '' };
    await publish(storage, 'm', files);
    assert.deepEqual(await published(storage, 'm'), files);
  },

  'publishes a folder without files': async (storage) => {
    await publish(storage, 'm', {});
    assert.deepEqual(await published(storage, 'm'), {});
  },

  'starts the next staging empty after publishing': async (storage) => {
    await publish(storage, 'm', { 'config.json': '1' });
    assert.deepEqual(await filesIn(await storage.stageFolder('m')), {});
    assert.deepEqual(await published(storage, 'm'), { 'config.json': '1' });
  },

  'keeps an opened folder readable while the next one is staged and discarded': async (storage) => {
    await publish(storage, 'm', { 'config.json': '1' });
    const opened = await open(storage, 'm');
    await stage(storage, 'm', { 'config.json': '2' });
    assert.deepEqual(await filesIn(opened), { 'config.json': '1' });
    await storage.discardStaged('m');
    assert.deepEqual(await filesIn(opened), { 'config.json': '1' });
  },

  'replaces a published folder whole: no file of the earlier one stays': async (storage) => {
    await publish(storage, 'm', { 'config.json': '1', 'old.txt': 'old' });
    await publish(storage, 'm', { 'config.json': '2', 'new.txt': 'new' });
    await publish(storage, 'm', { 'config.json': '3' });
    assert.deepEqual(await published(storage, 'm'), { 'config.json': '3' });
  },

  'has a folder to open at every moment of a replacement': async (storage) => {
    await publish(storage, 'm', { 'config.json': '0' });
    for (const round of range(5)) {
      await stage(storage, 'm', { 'config.json': `${round}` });
      await observeDuring(storage.publishFolder('m'), async () => {
        assert.notEqual(await storage.openFolder('m'), undefined);
      });
    }
  },

  'refuses to publish if nothing is staged, naming the key, and keeps what is published': async (storage) => {
    await assert.rejects(storage.publishFolder('model-7'), /model-7/);
    assert.equal(await storage.openFolder('model-7'), undefined);
    await publish(storage, 'model-7', { 'config.json': '1' });
    await assert.rejects(storage.publishFolder('model-7'), /model-7/);
    assert.deepEqual(await published(storage, 'model-7'), { 'config.json': '1' });
  },

  'publishes what is staged once, however many callers ask at the same time': async (storage) => {
    await stage(storage, 'm', { 'config.json': '1' });
    const attempts = range(6).map(() => storage.publishFolder('m'));
    const { failures } = outcomes(await Promise.allSettled(attempts), (reason) => reason instanceof Error);
    assert.equal(failures, 5);
    assert.deepEqual(await published(storage, 'm'), { 'config.json': '1' });
  },

  'discards what is staged and nothing else; no error if nothing is staged': async (storage) => {
    await storage.discardStaged('m');
    await publish(storage, 'm', { 'config.json': '1' });
    await storage.discardStaged('m');
    await stage(storage, 'm', { 'config.json': '2' });
    await storage.discardStaged('m');
    assert.deepEqual(await filesIn(await storage.stageFolder('m')), {});
    assert.deepEqual(await published(storage, 'm'), { 'config.json': '1' });
  },

  'removes the published folder and what is staged; no error if there is neither': async (storage) => {
    await storage.removeFolder('m');
    await publish(storage, 'm', { 'config.json': '1' });
    await stage(storage, 'm', { 'config.json': '2' });
    await storage.removeFolder('m');
    assert.equal(await storage.openFolder('m'), undefined);
    assert.deepEqual(await filesIn(await storage.stageFolder('m')), {});
    await storage.removeFolder('m');
  },

  'publishes again under a key whose folder was removed': async (storage) => {
    await publish(storage, 'm', { 'config.json': '1' });
    await storage.removeFolder('m');
    await publish(storage, 'm', { 'new.json': '2' });
    assert.deepEqual(await published(storage, 'm'), { 'new.json': '2' });
  },

  'keeps folders with keys of any characters apart': async (storage) => {
    for (const key of ODD_KEYS) await publish(storage, key, { 'key.txt': JSON.stringify(key) });
    for (const key of ODD_KEYS) {
      assert.deepEqual(await published(storage, key), { 'key.txt': JSON.stringify(key) });
      await storage.removeFolder(key);
      assert.equal(await storage.openFolder(key), undefined);
    }
  },

  'keeps folders and records of one key apart': async (storage) => {
    await publish(storage, 'm', { 'config.json': '1' });
    await storage.write('models', 'm', 'record', undefined);
    await storage.removeFolder('m');
    assert.equal((await storage.read('models', 'm'))?.value, 'record');
    await publish(storage, 'm', { 'config.json': '2' });
    await storage.remove('models', 'm');
    assert.deepEqual(await published(storage, 'm'), { 'config.json': '2' });
  },
};

async function stage(storage: Storage, key: string, files: Files): Promise<string> {
  const directory = await storage.stageFolder(key);
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), content);
  }
  return directory;
}

async function publish(storage: Storage, key: string, files: Files): Promise<void> {
  await stage(storage, key, files);
  await storage.publishFolder(key);
}

async function open(storage: Storage, key: string): Promise<string> {
  const directory = await storage.openFolder(key);
  assert.ok(directory !== undefined, `nothing is published under ${key}`);
  return directory;
}

async function published(storage: Storage, key: string): Promise<Files> {
  return filesIn(await open(storage, key));
}

async function filesIn(directory: string, prefix = ''): Promise<Files> {
  const files: Record<string, string> = {};
  for (const entry of await readdir(join(directory, prefix), { withFileTypes: true })) {
    const path = prefix + entry.name;
    if (entry.isDirectory()) Object.assign(files, await filesIn(directory, `${path}/`));
    else files[path] = await readFile(join(directory, path), 'utf8');
  }
  return files;
}
