import { fstatSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { fileStorage } from '../../../src/storage/index.js';
import { replaceFile } from '../../../src/system/index.js';

/**
 * What survives a power cut: contents that were flushed before a rename made them visible, and names whose directory was
 * flushed after it. The system calls are watched, so these tests have a process of their own.
 */

/** A flush of a file or directory, by its inode, which a rename keeps; a rename or deletion, by the last path. */
type Call = { readonly flushed: number } | { readonly changed: string };

const calls = vi.hoisted((): { readonly made: Call[] } => ({ made: [] }));

vi.mock('node:fs/promises', async (importOriginal) => {
  const original = await importOriginal<typeof import('node:fs/promises')>();
  return {
    ...original,
    async open(...given: Parameters<typeof original.open>) {
      const file = await original.open(...given);
      const sync = file.sync.bind(file);
      file.sync = () => {
        calls.made.push({ flushed: fstatSync(file.fd).ino });
        return sync();
      };
      return file;
    },
    async rename(from: string, to: string) {
      await original.rename(from, to);
      calls.made.push({ changed: to });
    },
    async unlink(path: string) {
      await original.unlink(path);
      calls.made.push({ changed: path });
    },
  };
});

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'orchard-flushes-'));
  const made = directory;
  onTestFinished(() => rm(made, { recursive: true, force: true }));
  calls.made.length = 0;
});

/** Where the last rename to a path, or the deletion of it, is among the calls. */
function changeOf(path: string): number {
  const at = calls.made.findLastIndex((call) => 'changed' in call && call.changed === path);
  if (at < 0) expect.fail(`${path} was not changed`);
  return at;
}

/** Which of these paths was not flushed within a part of the calls. */
async function unflushed(paths: readonly string[], within: readonly Call[]): Promise<string[]> {
  const missing: string[] = [];
  for (const path of paths) {
    const { ino } = await stat(path);
    if (!within.some((call) => 'flushed' in call && call.flushed === ino)) missing.push(relative(directory, path));
  }
  return missing;
}

const before = (path: string) => calls.made.slice(0, changeOf(path));
const after = (path: string) => calls.made.slice(changeOf(path));

/** The directories between a path and the test's own, that one included. */
function parentsOf(path: string): string[] {
  const parent = dirname(path);
  return parent === directory ? [parent] : [parent, ...parentsOf(parent)];
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

describe.skipIf(process.platform === 'win32')('before and after a change is visible', () => {
  it('a replaced file is flushed, and the directories that have its name', async () => {
    const path = join(directory, 'a', 'b', 'file');
    await replaceFile(path, 'content');
    expect(await unflushed([path], before(path))).toEqual([]);
    expect(await unflushed([dirname(path)], after(path))).toEqual([]);
    expect(await unflushed(parentsOf(path), calls.made)).toEqual([]);
  });

  it('a record is flushed, and the directories to it', async () => {
    await using storage = storageOf(directory);
    for (const value of ['first', 'second']) {
      const version = (await storage.read('jobs', 'local/one'))?.version;
      calls.made.length = 0;
      await storage.write('jobs', 'local/one', value, version);
      const [record = '', ...others] = await filesBelow(join(directory, 'records'));
      expect(others).toEqual([]);
      expect(await unflushed([record], before(record))).toEqual([]);
      expect(await unflushed(value === 'first' ? parentsOf(record) : [dirname(record)], after(record))).toEqual([]);
    }
  });

  it('the removal of a record is flushed', async () => {
    await using storage = storageOf(directory);
    await storage.write('jobs', 'local/one', 1, undefined);
    await storage.write('jobs', 'local/two', 2, undefined);
    const records = await filesBelow(join(directory, 'records'));
    await storage.remove('jobs', 'local/one');
    const left = await filesBelow(join(directory, 'records'));
    const removed = records.find((path) => !left.includes(path)) ?? expect.fail('no record was removed');
    const [parent = ''] = await existing(parentsOf(removed));
    expect(await unflushed([parent], after(removed))).toEqual([]);
  });

  it('every file and directory of a published folder is flushed, and then its name', async () => {
    await using storage = storageOf(directory);
    const staged = await storage.stageFolder('model');
    await mkdir(join(staged, 'inner', 'empty'), { recursive: true });
    const files = ['config.json', 'inner/weights', 'inner/vocabulary'];
    for (const file of files) await writeFile(join(staged, file), file);
    calls.made.length = 0;
    await storage.publishFolder('model');
    const published = (await storage.openFolder('model')) ?? expect.fail('nothing was published');
    const all = ['', 'inner', 'inner/empty', ...files].map((name) => join(published, name));
    expect(await unflushed(all, before(published))).toEqual([]);
    expect(await unflushed([dirname(published)], after(published))).toEqual([]);
  });

  it('the removal of a folder is flushed', async () => {
    await using storage = storageOf(directory);
    await storage.stageFolder('model');
    await storage.publishFolder('model');
    calls.made.length = 0;
    await storage.removeFolder('model');
    const [moved] = calls.made.flatMap((call) => ('changed' in call ? [call.changed] : []));
    expect(await unflushed([join(directory, 'folders')], after(moved ?? ''))).toEqual([]);
  });
});

function storageOf(root: string) {
  const storage = fileStorage(root);
  return Object.assign(storage, { [Symbol.asyncDispose]: () => storage.close() });
}

async function existing(paths: readonly string[]): Promise<string[]> {
  const found = await Promise.allSettled(paths.map((path) => stat(path)));
  return paths.filter((_, at) => found[at]?.status === 'fulfilled');
}
