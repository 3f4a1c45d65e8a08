import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { FolderCache } from '../../src/postgres/folder-cache.js';
import { contentHash, filesIn } from '../../src/system/index.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { aMachine, machines, publish, published } from './machines.js';
import { describeWithPostgres } from './private-server.js';

const MINUTE_MS = 60_000;

/** Folders of one file each in a cache, with a clock of the test. */
async function aCache(maxBytes: number) {
  const root = temporaryDirectory();
  const time = { now: Date.parse('2026-01-01T00:00:00Z') };
  const newCache = () => new FolderCache(root, maxBytes, () => time.now);
  const hashes = new Map<string, string>();
  const filled: string[] = [];
  const cache = newCache();
  const open = async (text: string, from = cache) => {
    const folder = temporaryDirectory();
    await writeFile(join(folder, 'file'), text);
    const hash = contentHash(await filesIn(folder));
    hashes.set(hash, text);
    return from.open(hash, async (directory) => {
      filled.push(text);
      await writeFile(join(directory, 'file'), text);
    });
  };
  const kept = async () => (await cache.hashes()).map((hash) => hashes.get(hash)).sort();
  return { open, kept, filled, time, newCache };
}

describe('the cache of folders', () => {
  it('fetches a folder once for any number of concurrent calls', async () => {
    const { open, filled } = await aCache(1000);
    const directories = await Promise.all(['a', 'a', 'a'].map((text) => open(text)));
    await open('a');
    expect(new Set(directories).size).toBe(1);
    expect(filled).toEqual(['a']);
  });

  it('drops the least recently opened folders when it is full', async () => {
    const { open, kept, time } = await aCache(20);
    for (const text of ['1 of ten..', '2 of ten..', '1 of ten..', '3 of ten..']) {
      await open(text);
      time.now += 11 * MINUTE_MS;
    }
    expect(await kept()).toEqual(['1 of ten..', '3 of ten..']);
  });

  it('keeps what was opened in the last ten minutes, also by another process, whatever its size', async () => {
    const { open, kept, time, newCache } = await aCache(15);
    const other = newCache();
    await open('1 of ten..');
    time.now += 9 * MINUTE_MS;
    await open('1 of ten..', other);
    time.now += 9 * MINUTE_MS;
    await open('2 of ten..');
    expect(await kept()).toEqual(['1 of ten..', '2 of ten..']);
    time.now += 11 * MINUTE_MS;
    await open('3 of ten..');
    expect(await kept()).toEqual(['3 of ten..']);
  });

  it('keeps nothing when fetching fails, and fetches again', async () => {
    const { open, kept, filled, newCache } = await aCache(1000);
    const failing = newCache().open('ab'.repeat(32), async (directory) => {
      await writeFile(join(directory, 'half'), 'x');
      throw new Error('the line is cut');
    });
    await expect(failing).rejects.toThrow('the line is cut');
    expect(await kept()).toEqual([]);
    await open('a');
    expect(filled).toEqual(['a']);
  });
});

describeWithPostgres('the cache of a machine', (server) => {
  it('is checked when a process first uses it, so that a folder with a flipped byte is fetched again', async () => {
    const { schema, one } = machines(server);
    await publish(one, 'm', { 'model.bin': 'weights', 'onnx/model.onnx': 'graph' });
    const cache = temporaryDirectory();
    const before = aMachine(server, { schema, cache });
    const directory = (await before.openFolder('m')) ?? '';
    await before.close();
    const file = join(directory, 'onnx/model.onnx');
    const bytes = await readFile(file);
    bytes[2] = (bytes[2] ?? 0) ^ 1;
    await writeFile(file, bytes);

    const after = aMachine(server, { schema, cache });
    expect(await published(after, 'm')).toEqual({ 'model.bin': 'weights', 'onnx/model.onnx': 'graph' });
  });

  it('refuses a folder that is damaged in the database', async () => {
    const { schema, one, other } = machines(server);
    await publish(one, 'm', { 'model.bin': 'weights' });
    await server.sql(`UPDATE ${schema}.chunks SET bytes = 'weightz'`);
    await expect(other.openFolder('m')).rejects.toThrow(/folder m .*model\.bin is damaged in the database/);
    await server.sql(`UPDATE ${schema}.folder_files SET path = '../model.bin'`);
    await expect(aMachine(server, { schema }).openFolder('m')).rejects.toThrow(/not a path inside it/);
  });

  it('forgets a folder that another machine removes or replaces', async () => {
    const { schema, one } = machines(server);
    const cache = temporaryDirectory();
    const other = aMachine(server, { schema, cache });
    for (const key of ['removed', 'replaced', 'kept', 'twin']) {
      await publish(one, key, { 'model.bin': key === 'twin' ? 'of removed' : `of ${key}` });
      await other.openFolder(key);
    }
    await one.removeFolder('removed');
    expect(await other.openFolder('removed')).toBeUndefined();
    await publish(one, 'replaced', { 'model.bin': 'of its successor' });
    await vi.waitFor(async () => expect(await textsIn(cache)).toEqual(['of kept', 'of removed']), 10_000);
    await one.removeFolder('twin'); // no folder has this content any more
    await vi.waitFor(async () => expect(await textsIn(cache)).toEqual(['of kept']), 10_000);
  });

  it('forgets what was removed while it was closed', async () => {
    const { schema, one } = machines(server);
    const cache = temporaryDirectory();
    await publish(one, 'm', { 'model.bin': 'erased' });
    await publish(one, 'kept', { 'model.bin': 'kept' });
    const before = aMachine(server, { schema, cache });
    await before.openFolder('m');
    await before.openFolder('kept');
    await before.close();
    await one.removeFolder('m');
    const after = aMachine(server, { schema, cache });
    await after.openFolder('another');
    await vi.waitFor(async () => expect(await textsIn(cache)).toEqual(['kept']), 10_000);
  });

  it('is notified of removals again after a restart of the server', async () => {
    const { schema, one } = machines(server);
    const cache = temporaryDirectory();
    await publish(one, 'm', { 'model.bin': 'erased' });
    const other = aMachine(server, { schema, cache });
    await other.openFolder('m');
    await server.stop('SIGQUIT');
    await server.start();
    await one.removeFolder('m');
    await vi.waitFor(async () => expect(await textsIn(cache)).toEqual([]), 15_000);
  });

  it('belongs to one database: another one leaves it alone in the same directory', async () => {
    const cache = temporaryDirectory();
    const [first, second] = ['', ''].map(() => aMachine(server, { schema: server.newSchema(), cache }));
    if (first === undefined || second === undefined) return;
    await publish(first, 'm', { 'model.bin': 'first' });
    await publish(second, 'm', { 'model.bin': 'second' });
    await second.removeFolder('m');
    expect(await published(first, 'm')).toEqual({ 'model.bin': 'first' });
  });
});

/** What the model files of a cache hold. */
async function textsIn(cache: string): Promise<string[]> {
  const entries = await readdir(cache, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return (await Promise.all(files.map((file) => readFile(file, 'utf8')))).sort();
}
